#!/usr/bin/env python3
"""Checks the include rules of the source tree. Prints `file:line: message` for each breach; exit status 1 if any.

  src/      a folder includes itself and the folders before it in SRC_ORDER, and nothing of tools, tests or examples
  include/  a public header includes the standard library and public headers only; the device library only itself
  anywhere  quoted includes and <tilewright/...> name a file that exists; every header has #pragma once
"""

import argparse
import re
import sys
from pathlib import Path

SRC_ORDER = ("support", "layout", "target", "ir", "ops", "passes", "codegen", "runtime", "driver", "lang")
FOLDERS = ("include", "src", "tools", "tests", "bench", "examples", "python")
SUFFIXES = (".h", ".cc", ".cpp", ".cu")

PUBLIC = Path("include/tilewright")
DEVICE = PUBLIC / "device"

# Comments and raw strings, which may hold text that looks like an include; other literals only so that a quote or `//`
# inside them starts nothing.
TOKENS = re.compile(
    r"""R"(?P<delimiter>[^ ()\\\t\n]{0,16})\(.*?\)(?P=delimiter)" | /\*.*?\*/ | //(?:\\\n|[^\n])*
      | (?P<keep>"(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+')""",
    re.DOTALL | re.VERBOSE,
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
PRAGMA_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b", re.MULTILINE)
STANDARD = re.compile(r"[a-z0-9_]+")  # <vector>; <stdlib.h> and <unistd.h> are not


def without_comments(text):
    """The text with comments and raw strings blanked; lines keep their numbers."""

    def blank(match):
        return match.group() if match.group("keep") else "\n" * match.group().count("\n")

    return TOKENS.sub(blank, text)


def includes(text):
    """(line, name, quoted) of each include."""
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield line, match.group(1) or match.group(2), match.group(1) is not None


def is_below(path, folder):
    return folder == path or folder in path.parents


def search_folders(path):
    """Where the quoted includes of `path` are searched, relative to the root, in order."""
    folders = [path.parent]
    if is_below(path, DEVICE):
        return folders + [Path("include")]
    if path.parts[0] == "tests":
        folders.append(Path("tests"))
    return folders + [Path("src"), Path("include")]


def normalized(path):
    """`a/b/../c` as `a/c`, without asking the file system; None when it leaves the root."""
    parts = []
    for part in path.parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        else:
            parts.append(part)
    return Path(*parts)


def resolve(root, path, name, quoted):
    """The file of the tree that is included, relative to the root, or None."""
    folders = search_folders(path) if quoted else [Path("include")]
    for folder in folders:
        candidate = normalized(folder / name)
        if candidate and (root / candidate).is_file():
            return candidate
    return None


def order_problem(path, target):
    """Why the file `path` of src/ may not include the file `target` of the tree, or None."""
    if target.parts[0] == "include":
        return None
    if target.parts[0] != "src":
        return f"src/ may not include {target.as_posix()}"
    own, other = path.parts[1], target.parts[1]
    if other not in SRC_ORDER:
        return None  # reported for the other folder's own files
    if SRC_ORDER.index(other) > SRC_ORDER.index(own):
        return f"src/{own} may not include src/{other}, which comes after it ({' < '.join(SRC_ORDER)})"
    return None


def include_problem(root, path, name, quoted):
    """What is wrong with an include of `name` in `path`, or None."""
    target = resolve(root, path, name, quoted)
    ours = quoted or name.startswith("tilewright/")
    if ours and target is None:
        return f"{name} does not exist"
    if is_below(path, DEVICE):
        if target and not is_below(target, DEVICE):
            return f"the device library includes only itself, not {name}"
    elif is_below(path, PUBLIC):
        if target and (not is_below(target, PUBLIC) or is_below(target, DEVICE)):
            return f"a public header includes only public headers, not {name}"
        if target is None and not STANDARD.fullmatch(name):
            return f"a public header includes only the standard library and public headers, not <{name}>"
    elif path.parts[0] == "src" and target:
        return order_problem(path, target)
    return None


def check_file(root, path):
    """(line, message) of each breach in `path`, which is relative to the root."""
    text = without_comments((root / path).read_text(encoding="utf-8", errors="replace"))
    if path.suffix == ".h" and not PRAGMA_ONCE.search(text):
        yield 1, "a header without #pragma once"
    if path.parts[0] == "src" and (len(path.parts) < 3 or path.parts[1] not in SRC_ORDER):
        yield 1, f"every file of src/ lies in one of its folders: {', '.join(SRC_ORDER)}"
        return
    for line, name, quoted in includes(text):
        problem = include_problem(root, path, name, quoted)
        if problem:
            yield line, problem


def source_files(root):
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in SUFFIXES and file.is_file():
                yield file.relative_to(root)


def check_tree(root):
    """`file:line: message` of each breach below `root`."""
    problems = []
    for path in source_files(root):
        problems += [f"{path.as_posix()}:{line}: {message}" for line, message in check_file(root, path)]
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="of the source tree")
    root = parser.parse_args().root.resolve()
    if not (root / "src").is_dir():
        parser.error(f"{root} has no src/")
    problems = check_tree(root)
    for problem in problems:
        print(problem)
    print(f"check_includes: {len(problems)} problems in {sum(1 for _ in source_files(root))} files", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
