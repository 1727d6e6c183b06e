"""Runs the example files of a checkout of TileLang through ``python -m tilewright.compat``, each in a process of its own,
and prints what became of each:

  pass      it ended well, launched kernels of Tilewright, and made comparisons with a reference
  refused   Tilewright refused something by name
  unchecked it ended well, but launched nothing or compared nothing: not a pass
  timeout   it did not end in time
  fail      all else

usage: run_examples.py CHECKOUT [--device cpu] [--tests] [--filter TEXT] [--limit SECONDS] [--jobs N] [--json FILE]
                       [--markdown FILE]
"""

from __future__ import annotations

import argparse
import ast
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

ONE = pathlib.Path(__file__).with_name("one_example.py")
TEST_FOLDERS = ("language", "kernel", "issue", "cpu", "math")
OUTCOMES = ("pass", "refused", "unchecked", "timeout", "fail")

# What a GPU of compute capability 9.0 cannot run, by what the text needs, not by its name.
ELSEWHERE = (
    (re.compile(r"\btcgen05_|\balloc_tmem\b|\bmma_gemm_blockscaled\b"), "needs compute capability 10.0 or 12.0"),
    (re.compile(r"tilelang\.rocm\b|\bmfma|\btarget_is_gfx|\bhip\b.*target|target\s*=\s*[\"']hip"), "needs an AMD GPU"),
    (re.compile(r"^\s*(import triton|from triton)\b", re.M), "needs Triton beside it"),
    (re.compile(r"^\s*(import|from) (flash_attn|fla|mamba_ssm|flash_mla|deep_gemm|vllm|transformers)\b", re.M),
     "needs another package beside it"),
)


def has_entry(text):
    """Whether running the file does more than define things."""
    still = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if isinstance(statement, ast.If) and "__main__" not in ast.unparse(statement.test):
            continue
        if not isinstance(statement, still):
            return True
    return False


def reason_to_leave_out(path, text):
    if not re.search(r"\btilelang\b", text):
        return "does not import tilelang"
    for pattern, reason in ELSEWHERE:
        if pattern.search(text):
            return reason
    if not path.name.startswith("test_") and not has_entry(text):
        return "defines things only"
    return None


def files_of(checkout, tests):
    folders = ["examples"] + [f"testing/python/{name}" for name in TEST_FOLDERS] * tests
    return sorted(path for folder in folders for path in (checkout / folder).rglob("*.py"))


def last_error(output):
    """The last line that names an exception."""
    lines = [line for line in output.splitlines()
             if re.match(r"(E\s+)?([A-Za-z_.]*\.)?[A-Za-z_]*(Error|Exception|Exit|Interrupt|Failed)\b", line)]
    if lines:
        return re.sub(r"^E\s+", "", lines[-1])
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def outcome_of(status, output, record):
    if status is None:
        return "timeout", f"{record.get('launches', 0)} launches until then"
    if status == 0:
        if record.get("launches") and record.get("checks"):
            return "pass", ""
        return "unchecked", f"{record.get('launches', 0)} launches, {record.get('checks', 0)} comparisons"
    error = last_error(output)
    if status < 0:
        return "fail", f"ended by {signal.Signals(-status).name}; {error}"
    refused = "UnsupportedError" in error or "docs/status.md" in error
    return ("refused" if refused else "fail"), error


def run(path, options):
    with tempfile.TemporaryDirectory() as folder:
        record_path = pathlib.Path(folder) / "record.json"
        environment = {**os.environ, "EXAMPLE_RECORD": str(record_path), "EXAMPLE_DEVICE": options.device,
                       "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg"}
        process = subprocess.Popen([sys.executable, "-m", "tilewright.compat", str(ONE), str(path)], cwd=folder,
                                   env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            output, status = process.communicate(timeout=options.limit)[0], process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with the compilers that it started
            output, status = process.communicate()[0], None
        record = json.loads(record_path.read_text()) if record_path.exists() else {}
    text = output.decode(errors="replace")
    outcome, reason = outcome_of(status, text, record)
    return {"outcome": outcome, "reason": reason, "launches": record.get("launches", 0),
            "checks": record.get("checks", 0), "output": text[-4000:]}


def cause(reason):
    """Equal for reasons that one change would remove: without numbers and places."""
    return re.sub(r"\d+", "N", re.sub(r"^\S*/\S+:\d+(:\d+)?:? ?", "", reason))[:110]


def print_totals(results, left_out, out=sys.stdout):
    totals = collections.Counter(result["outcome"] for result in results.values())
    count = len(results)
    print("\n" + ", ".join(f"{totals[name]} {name}" for name in OUTCOMES), file=out)
    print(f"{totals['pass']} of {count} files pass ({100 * totals['pass'] / max(count, 1):.0f} %)", file=out)
    for reason, number in collections.Counter(left_out.values()).most_common():
        print(f"left out: {number} files: {reason}", file=out)
    print("\nfiles  cause", file=out)
    causes = collections.Counter(cause(r["reason"]) for r in results.values() if r["outcome"] in ("fail", "refused"))
    for text, number in causes.most_common(40):
        print(f"{number:5}  {text}", file=out)


def write_markdown(path, results, left_out):
    with open(path, "w", encoding="utf-8") as out:
        print("| File | Outcome | Launches | Comparisons | Reason |\n|---|---|---|---|---|", file=out)
        for name, r in sorted(results.items()):
            reason = r["reason"].replace("|", "\\|")
            print(f"| {name} | {r['outcome']} | {r['launches']} | {r['checks']} | {reason} |", file=out)
        print_totals(results, left_out, out)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--tests", action="store_true", help="the test folders too")
    parser.add_argument("--filter", default="", help="files whose path matches this pattern only")
    parser.add_argument("--limit", type=float, default=300, help="seconds for each file")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path)
    return parser.parse_args()


def main():
    options = parse()
    checkout = options.checkout.resolve()
    left_out, chosen = {}, {}
    for path in files_of(checkout, options.tests):
        name = str(path.relative_to(checkout))
        if not re.search(options.filter, name):
            continue
        reason = reason_to_leave_out(path, path.read_text(encoding="utf-8"))
        if reason:
            left_out[name] = reason
        else:
            chosen[name] = path
    if not chosen:
        sys.exit(f"no example files to run in {checkout}")
    if options.device == "cpu":
        print('CPU: kernels are compiled for the CPU target, torch\'s device "cuda" means the CPU, benchmarks run once')
    results = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as workers:
        waiting = {workers.submit(run, path, options): name for name, path in chosen.items()}
        for done in concurrent.futures.as_completed(waiting):
            name, result = waiting[done], done.result()
            results[name] = result
            print(f"{result['outcome']:9} {name}  ({result['launches']} launches, {result['checks']} comparisons)  "
                  f"{result['reason'][:200]}", flush=True)
    print_totals(results, left_out)
    if options.json:
        options.json.write_text(json.dumps({"results": results, "left_out": left_out}, indent=1))
    if options.markdown:
        write_markdown(options.markdown, results, left_out)
    return 0 if all(result["outcome"] == "pass" for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
