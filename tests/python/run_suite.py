"""pytest with the options and the report of a GoogleTest program, so that `tw test` counts its tests with the others."""

import fnmatch
import json
import pathlib
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent


class Report:
    """Selects tests by a filter such as ``*gemm*:-*slow*`` of `file.test`, and remembers how each ends."""

    def __init__(self, pattern):
        wanted, _, unwanted = pattern.partition("-")
        self._wanted = [p for p in wanted.split(":") if p] or ["*"]
        self._unwanted = [p for p in unwanted.split(":") if p]
        self.results = {}

    def _selects(self, name):
        return any(fnmatch.fnmatchcase(name, p) for p in self._wanted) and not any(
            fnmatch.fnmatchcase(name, p) for p in self._unwanted
        )

    def pytest_collection_modifyitems(self, config, items):
        kept = [item for item in items if self._selects(test_name(item.nodeid))]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept

    def pytest_collectreport(self, report):
        if report.failed:
            self.results[test_name(report.nodeid)] = ("failed", str(report.longrepr))

    def pytest_runtest_logreport(self, report):
        name = test_name(report.nodeid)
        if report.failed:
            self.results[name] = ("failed", str(report.longrepr))
        elif report.skipped:
            self.results.setdefault(name, ("skipped", str(report.longrepr)))
        elif report.when == "call":
            self.results.setdefault(name, ("passed", ""))


def test_name(nodeid):
    """tests/python/test_eager.py::test_product[shape0] -> test_eager.test_product[shape0]"""
    file, _, test = nodeid.partition("::")
    return f"{pathlib.PurePath(file).stem}.{test}" if test else pathlib.PurePath(file).stem


test_name.__test__ = False


def entry(name, result):
    outcome, text = result
    made = {"name": name, "status": "RUN", "result": "SKIPPED" if outcome == "skipped" else "COMPLETED"}
    if outcome == "failed":
        made["failures"] = [{"failure": text}]
    return made


def main(arguments):
    options = dict(a[2:].partition("=")[::2] for a in arguments if a.startswith("--"))
    report = Report(options.get("gtest_filter", "*"))
    status = pytest.main(["-q", "--tb=short", "-p", "no:cacheprovider", "--rootdir", str(FOLDER), str(FOLDER)],
                         plugins=[report])
    kind, _, path = options.get("gtest_output", "").partition(":")
    if kind == "json":
        tests = [entry(name, result) for name, result in report.results.items()]
        pathlib.Path(path).write_text(json.dumps({"testsuites": [{"name": "python", "testsuite": tests}]}))
    # No test at all is no failure here: a filter may select those of other suites.
    return 0 if status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
