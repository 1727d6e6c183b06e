#!/usr/bin/env python3
"""Checks README.md, HACKING.md and docs/*.md. Prints `file:line: message` for each fault; exit status 1 if any.

  links     relative links name a file that exists, and #anchors a heading in it
  commands  each `./tw NAME` is a command
  paths     no path of one machine (below work, root or home)
  code      ```cpp blocks that start with `// runnable` compile (syntax only; left out with a note where there is no C++20
            compiler): a block with an #include as a file, one that starts with `// runnable program` as the body of
            T::prim_func, any other as statements in the kernel of FRAME, which docs/language.md shows
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)")
INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?\s*$")
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
COMMAND = re.compile(r"\./tw[ \t]+([a-z][a-z0-9_-]*)")
MACHINE_PATH = re.compile(r"(?<![\w.~/-])/(?:work|root|home)(?![\w-])")
SUBCOMMAND = re.compile(r'add_subcommand\(\s*"([^"]+)"')
RUNNABLE = re.compile(r"//\s*runnable\b[ \t]*(program)?")

PREAMBLE = """#include <tilewright/language.h>
namespace T = tilewright::lang;
"""
PROGRAM = """T::Program example_%d(int64_t M, int64_t N, int64_t K) {
  return T::prim_func("example", [&] {
#line %d "%s"
%s
  });
}
"""
# What statements in the documents may name.
FRAME = """    auto A = T::tensor("A", {M, K}, T::f16);
    auto B = T::tensor("B", {K, N}, T::f16);
    auto C = T::tensor("C", {M, N}, T::f32);
    auto n = T::scalar("n", T::i32);
    auto [bx, by] = T::Kernel({T::ceildiv(N, 64), T::ceildiv(M, 64)});
    auto a = T::alloc_shared({64, 32}, T::f16);
    auto b = T::alloc_shared({32, 64}, T::f16);
    auto c = T::alloc_fragment({64, 64}, T::f32);
    auto r = T::alloc_fragment({64}, T::f32);
"""


class Document:
    """A file as lines: those outside of fenced blocks with inline code blanked, and the blocks."""

    def __init__(self, path, text):
        self.path = path
        self.lines = text.splitlines()
        self.prose = []  # (line number, text)
        self.blocks = []  # (line number of the first line, language, text)
        fence, language, start, block = None, "", 0, []
        for number, line in enumerate(self.lines, 1):
            match = FENCE.match(line)
            if fence is None and match:
                fence, language, start, block = match.group(1), match.group(2), number + 1, []
            elif fence is None:
                self.prose.append((number, line))
            elif match and match.group(1).startswith(fence) and not match.group(2):
                self.blocks.append((start, language, "\n".join(block)))
                fence = None
            else:
                block.append(line)
        self.open_fence = start - 1 if fence is not None else None

    def anchors(self):
        """The anchors of the headings, as GitHub makes them."""
        seen = {}
        for _, line in self.prose:
            match = re.match(r"#{1,6}\s+(.*?)\s*#*\s*$", line)
            if not match:
                continue
            title = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", match.group(1))
            slug = re.sub(r"[^\w\- ]", "", title.replace("`", "").lower()).replace(" ", "-")
            seen[slug] = seen.get(slug, -1) + 1
            yield slug if seen[slug] == 0 else f"{slug}-{seen[slug]}"


def document_paths(root):
    paths = [Path("README.md"), Path("HACKING.md")]
    return paths + sorted(p.relative_to(root) for p in (root / "docs").glob("*.md"))


def known_commands(root):
    """The commands of ./tw: those its help text lists, and those the program `tw` adds."""
    text = (root / "tw").read_text(encoding="utf-8")
    help_text = re.search(r"<<'HELP'\n(.*?)\nHELP\n", text, re.DOTALL)
    names = set(COMMAND.findall(help_text.group(1))) if help_text else set()
    for file in sorted((root / "tools" / "tw").glob("*_command.cc")):
        names |= set(SUBCOMMAND.findall(file.read_text(encoding="utf-8")))
    return names | {"help"}


def check_links(root, document, load):
    for number, line in document.prose:
        bare = INLINE_CODE.sub("", line)
        targets = LINK.findall(bare) + REFERENCE.findall(bare)
        for target in targets:
            if SCHEME.match(target):
                continue
            name, _, anchor = target.partition("#")
            path = Path(os.path.normpath(document.path.parent / name)) if name else document.path
            if not (root / path).exists():
                yield number, f"the link {target} leads to nothing"
            elif anchor and path.suffix == ".md" and anchor not in set(load(path).anchors()):
                yield number, f"{path.as_posix()} has no heading #{anchor}"


def check_lines(document, commands):
    for number, line in enumerate(document.lines, 1):
        for name in COMMAND.findall(line):
            if name not in commands:
                yield number, f"./tw has no command '{name}'; there are: {', '.join(sorted(commands))}"
        match = MACHINE_PATH.search(line)
        if match:
            yield number, f"{match.group()}... is a path of one machine"
    if document.open_fence is not None:
        yield document.open_fence, "this code block has no end"


def runnable_sources(documents):
    """The translation units that the runnable blocks make, as text; compilers report positions in the documents."""
    statements, files, count = [], [], 0
    for document in documents:
        for start, language, text in document.blocks:
            match = RUNNABLE.match(text.lstrip())
            if language != "cpp" or not match:
                continue
            name = document.path.as_posix()
            count += 1
            if re.search(r"^\s*#\s*include", text, re.MULTILINE):
                files.append(f'#line {start} "{name}"\n{text}\n')
            else:
                body = text if match.group(1) else f'{FRAME}#line {start} "{name}"\n{text}'
                statements.append(PROGRAM % (count, start, name, body))
    return ([PREAMBLE + "".join(statements)] if statements else []) + files, count


def find_compiler():
    for name in (os.environ.get("CXX"), "g++", "clang++-16", "clang++", "c++"):
        if name and shutil.which(name):
            return name
    return None


def check_code(root, documents, compiler):
    """What the compiler says against the runnable blocks, one `file:line: message` each."""
    sources, _ = runnable_sources(documents)
    command = [compiler, "-std=c++20", "-fsyntax-only", "-w", "-x", "c++", f"-I{root / 'include'}", f"-I{root}", "-"]
    problems = []
    for source in sources:
        result = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
        if result.returncode == 0:
            continue
        errors = re.findall(r"^(\S+?:\d+):(?:\d+:)? (?:fatal )?error: (.*)$", result.stderr, re.MULTILINE)
        problems += [f"{place}: {message}" for place, message in errors] or [f"{compiler}: {result.stderr.strip()}"]
    return problems


def check_documents(root, compiler=None):
    """`file:line: message` of each fault below `root`; code is checked where there is a compiler."""
    cache = {}

    def load(path):
        if path not in cache:
            cache[path] = Document(path, (root / path).read_text(encoding="utf-8"))
        return cache[path]

    problems, documents = [], []
    commands = known_commands(root)
    for path in document_paths(root):
        if not (root / path).is_file():
            problems.append(f"{path.as_posix()}:1: is missing")
            continue
        document = load(path)
        documents.append(document)
        faults = list(check_links(root, document, load)) + list(check_lines(document, commands))
        problems += [f"{path.as_posix()}:{line}: {message}" for line, message in sorted(faults)]
    if compiler:
        problems += check_code(root, documents, compiler)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="of the source tree")
    root = parser.parse_args().root.resolve()
    if not (root / "tw").is_file():
        parser.error(f"{root} has no tw")
    compiler = find_compiler()
    if compiler is None:
        print("check_docs: no C++ compiler, so the runnable blocks are not checked", file=sys.stderr)
    problems = check_documents(root, compiler)
    for problem in problems:
        print(problem)
    print(f"check_docs: {len(problems)} problems in {len(document_paths(root))} files", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
