#!/usr/bin/env python3
"""Measures the test suites: plants known bugs, one at a time, in a copy of the tree and looks for who notices.

    plant_bugs.py [--only NAME,NAME] [--jobs N] [--work DIR] [--fuzz-count N] [--all-suites] [--skip-baseline]

Random programs run first, then one suite after the other until one fails; with --all-suites all of them run.
Exits with 1 when a bug is missed by every suite, or when random programs alone catch fewer than half.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FUZZ = "fuzz"
SUITE_TIMEOUT_S = 1800  # several times the slowest suite on a busy machine; a bug may hang one
# Suites that take seconds come before those that compile many kernels.
SLOW = ["device", "errors", "reports", "robustness", "examples", "sim", "aarch64", "ops", "e2e", "cuda", "gpu"]
TOKEN = re.compile(r"\w+|<=|>=|==|!=|&&|\|\||<<|>>|::|->|\S")


class BuildFailed(Exception):
    pass


def load_bugs(path, only):
    bugs = tomllib.loads(path.read_text())["bug"]
    names = [bug["name"] for bug in bugs]
    if len(set(names)) != len(names):
        sys.exit(f"{path}: two bugs have one name")
    for bug in bugs:
        check_one_token(bug)
    wanted = only.split(",") if only else names
    if unknown := [name for name in wanted if name not in names]:
        sys.exit(f"there is no bug '{unknown[0]}'; bugs are {', '.join(names)}")
    return [bug for bug in bugs if bug["name"] in wanted]


def check_one_token(bug):
    before, after = TOKEN.findall(bug["find"]), TOKEN.findall(bug["replace"])
    if len(before) != len(after) or sum(x != y for x, y in zip(before, after)) != 1:
        sys.exit(f"bug {bug['name']} changes more or less than one token")


def planted(tree, bug):
    """The text of the bug's file with the bug in it; exits when the pattern does not apply exactly once."""
    path = tree / bug["file"]
    if not path.is_file():
        sys.exit(f"bug {bug['name']}: there is no file {bug['file']}")
    text = path.read_text()
    times = text.count(bug["find"])
    if times != 1:
        sys.exit(f"bug {bug['name']}: its pattern occurs {times} times in {bug['file']}, not once:\n  {bug['find']}")
    return text.replace(bug["find"], bug["replace"])


def copy_tree(tree):
    """Changed files get the time of the copy: with their own, older one the build would keep what a bug left behind."""
    tree.mkdir(parents=True, exist_ok=True)
    command = ["rsync", "-rlp", "--checksum", "--delete", "--exclude=/.git", "--exclude=/build*", f"{ROOT}/", f"{tree}/"]
    subprocess.run(command, check=True)


def build_environment(tree):
    """So that ccache knows the objects of a tree in another folder."""
    return dict(os.environ, CCACHE_BASEDIR=str(tree), CCACHE_NOHASHDIR="1")


def configure(tree, build):
    command = ["cmake", "--preset", "release", "-B", str(build), "-DTILEWRIGHT_BENCH=OFF"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=tree, env=build_environment(tree))


def build_targets(tree, build, targets, jobs):
    result = subprocess.run(["ninja", "-C", str(build), "-j", str(jobs), *targets], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env=build_environment(tree))
    if result.returncode != 0:
        lines = [line for line in result.stdout.splitlines() if "error" in line]
        raise BuildFailed("\n".join(lines[:5]))


def suites(build):
    """The names of tests.txt: random programs first, then the fast ones."""
    names = [line.split()[0].removeprefix("test_") for line in (build / "tests.txt").read_text().splitlines() if line]
    if FUZZ not in names:
        sys.exit(f"{build} has no test_{FUZZ}")
    return sorted(names, key=lambda name: (name != FUZZ, SLOW.index(name) if name in SLOW else -1, name))


def passes(build, suite, environment):
    """Runs a suite; a crash or a hang counts as a failure."""
    try:
        result = subprocess.run([str(build / f"test_{suite}"), "--gtest_brief=1", "--gtest_fail_fast"], cwd=build, env=environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SUITE_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return False
    return result.returncode == 0


class Measurement:
    def __init__(self, work, jobs, environment, all_suites):
        # Where an ordinary build lies, so that ccache finds its objects.
        self.tree, self.build = work / "tree", work / "tree" / "build" / "release"
        self.jobs, self.environment, self.all_suites = jobs, environment, all_suites
        copy_tree(self.tree)
        configure(self.tree, self.build)

    def passes(self, suite):
        build_targets(self.tree, self.build, [f"test_{suite}"], self.jobs)
        return passes(self.build, suite, self.environment)

    def failing(self, first_only):
        """The suites that fail; `first_only`: the first one."""
        found = []
        for suite in suites(self.build):
            if not self.passes(suite):
                found.append(suite)
                if first_only:
                    break
        return found

    def measure(self, bug):
        path = self.tree / bug["file"]
        original = path.read_text()
        path.write_text(planted(self.tree, bug))
        try:
            return self.failing(first_only=not self.all_suites)
        finally:
            path.write_text(original)


def print_table(rows):
    print(f"{'bug':<24}{'file':<46}{'random programs':<18}caught by")
    for bug, failing in rows:
        print(f"{bug['name']:<24}{bug['file']:<46}{'yes' if FUZZ in failing else 'no':<18}{', '.join(failing) or 'NOBODY'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="plant these bugs only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="of the builds")
    parser.add_argument("--work", type=pathlib.Path, help="folder to copy and build in, kept; default: a temporary one")
    parser.add_argument("--fuzz-count", type=int, help="random programs per bug; default: those of the suite")
    parser.add_argument("--all-suites", action="store_true", help="do not stop at the first suite that fails")
    parser.add_argument("--skip-baseline", action="store_true", help="take for granted that all suites pass without a bug")
    options = parser.parse_args()

    bugs = load_bugs(HERE / "bugs.toml", options.only)
    for bug in bugs:
        planted(ROOT, bug)
    with tempfile.TemporaryDirectory(prefix="plant_bugs.") as temporary:
        work = (options.work or pathlib.Path(temporary)).resolve()
        environment = dict(os.environ, TILEWRIGHT_CACHE_DIR=str(work / "cache"))
        if options.fuzz_count:
            environment["TILEWRIGHT_FUZZ_COUNT"] = str(options.fuzz_count)
        measurement = Measurement(work, options.jobs, environment, options.all_suites)
        try:
            if not options.skip_baseline and (failing := measurement.failing(first_only=False)):
                sys.exit(f"without any bug these suites fail already: {', '.join(failing)}")
        except BuildFailed as error:
            sys.exit(f"the tree does not build:\n{error}")
        rows = []
        for bug in bugs:
            try:
                rows.append((bug, measurement.measure(bug)))
            except BuildFailed as error:
                sys.exit(f"bug {bug['name']}: the tree does not build with it:\n{error}")
            print(f"{bug['name']}: {', '.join(rows[-1][1]) or 'NOBODY'}", flush=True)
    print()
    print_table(rows)
    caught_alone = sum(FUZZ in failing for _, failing in rows)
    missed = [bug["name"] for bug, failing in rows if not failing]
    print(f"\n{len(rows)} bugs in {len({bug['file'] for bug, _ in rows})} files: {len(rows) - len(missed)} caught, "
          f"{caught_alone} by random programs alone")
    return 1 if missed or (not options.only and 2 * caught_alone < len(rows)) else 0


if __name__ == "__main__":
    sys.exit(main())
