#!/usr/bin/env python3
"""Measures the test suites: plants known bugs, one at a time, in a copy of the tree and looks for who notices.

    plant_bugs.py [--only NAME] [--jobs N] [--work DIR] [--fuzz-count N]

Exits with 1 when a bug is missed by every suite, or when random programs alone catch fewer than half.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FUZZ = "fuzz"
SUITE_TIMEOUT_S = 1800  # several times the slowest suite on a busy machine; a bug may hang one


class BuildFailed(Exception):
    pass


def load_bugs(path, only):
    bugs = tomllib.loads(path.read_text())["bug"]
    names = [bug["name"] for bug in bugs]
    if len(set(names)) != len(names):
        sys.exit(f"{path}: two bugs have one name")
    if only and only not in names:
        sys.exit(f"there is no bug '{only}'; bugs are {', '.join(names)}")
    return [bug for bug in bugs if not only or bug["name"] == only]


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


def configure(tree, build):
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    command = ["cmake", "-S", str(tree), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
               "-DTILEWRIGHT_BENCH=OFF", *launcher]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def build_all(build, jobs):
    result = subprocess.run(["cmake", "--build", str(build), "-j", str(jobs)], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        lines = [line for line in result.stdout.splitlines() if "error" in line]
        raise BuildFailed("\n".join(lines[:5]))


def suites(build):
    """The GoogleTest executables of the build, random programs first."""
    names = sorted(path.name.removeprefix("test_") for path in build.glob("test_*") if os.access(path, os.X_OK) and path.is_file())
    if FUZZ not in names:
        sys.exit(f"{build} has no test_{FUZZ}")
    return [FUZZ] + [name for name in names if name != FUZZ]


def passes(build, suite, environment):
    """Runs a suite; a crash or a hang counts as a failure."""
    try:
        result = subprocess.run([str(build / f"test_{suite}"), "--gtest_brief=1", "--gtest_fail_fast"], cwd=build, env=environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SUITE_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return False
    return result.returncode == 0


def measure(bug, tree, build, jobs, environment):
    """The suites that fail with the bug planted."""
    path = tree / bug["file"]
    original = path.read_text()
    path.write_text(planted(tree, bug))
    try:
        build_all(build, jobs)
        return [suite for suite in suites(build) if not passes(build, suite, environment)]
    finally:
        path.write_text(original)


def check_baseline(build, jobs, environment):
    build_all(build, jobs)
    failing = [suite for suite in suites(build) if not passes(build, suite, environment)]
    if failing:
        sys.exit(f"without any bug these suites fail already: {', '.join(failing)}")


def print_table(rows):
    print(f"{'bug':<24}{'file':<42}{'random programs':<18}caught by")
    for bug, failing in rows:
        print(f"{bug['name']:<24}{bug['file']:<42}{'yes' if FUZZ in failing else 'no':<18}{', '.join(failing) or 'NOBODY'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="plant this bug only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="of the builds")
    parser.add_argument("--work", type=pathlib.Path, help="folder to copy and build in, kept; default: a temporary one")
    parser.add_argument("--fuzz-count", type=int, help="random programs per bug; default: those of the suite")
    options = parser.parse_args()

    bugs = load_bugs(HERE / "bugs.toml", options.only)
    for bug in bugs:
        planted(ROOT, bug)
    with tempfile.TemporaryDirectory(prefix="plant_bugs.") as temporary:
        work = (options.work or pathlib.Path(temporary)).resolve()
        tree, build = work / "tree", work / "build"
        environment = dict(os.environ, TILEWRIGHT_CACHE_DIR=str(work / "cache"))
        if options.fuzz_count:
            environment["TILEWRIGHT_FUZZ_COUNT"] = str(options.fuzz_count)
        copy_tree(tree)
        configure(tree, build)
        try:
            check_baseline(build, options.jobs, environment)
        except BuildFailed as error:
            sys.exit(f"the tree does not build:\n{error}")
        rows = []
        for bug in bugs:
            try:
                rows.append((bug, measure(bug, tree, build, options.jobs, environment)))
            except BuildFailed as error:
                sys.exit(f"bug {bug['name']}: the tree does not build with it:\n{error}")
            print(f"{bug['name']}: {', '.join(rows[-1][1]) or 'NOBODY'}", flush=True)
    print()
    print_table(rows)
    caught_alone = sum(FUZZ in failing for _, failing in rows)
    missed = [bug["name"] for bug, failing in rows if not failing]
    print(f"\n{len(rows)} bugs: {len(rows) - len(missed)} caught, {caught_alone} by random programs alone")
    return 1 if missed or (not options.only and 2 * caught_alone < len(rows)) else 0


if __name__ == "__main__":
    sys.exit(main())
