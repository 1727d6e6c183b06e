"""tools/check_docs.py on small trees."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_docs

TW = "cat <<'HELP'\n  ./tw build [TARGET...]  build\n  ./tw test  test\nHELP\n"
TREE = {
    "tw": TW,
    "tools/tw/demo_command.cc": 'app.add_subcommand("demo", "text");\n',
    "README.md": "# Top\n",
    "HACKING.md": "# How to\n",
    "docs/language.md": "# The language\n\n## Loops and `if_`\n",
}


class Tree(unittest.TestCase):
    compiler = None

    def check(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (TREE | files).items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            include = Path(__file__).resolve().parents[2] / "include"
            Path(folder, "include").symlink_to(include)
            return check_docs.check_documents(Path(folder), self.compiler)


class CheckDocs(Tree):
    def test_right_tree(self):
        self.assertEqual(self.check({}), [])

    def test_missing_document(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "tw").write_text(TW, encoding="utf-8")
            self.assertEqual(check_docs.check_documents(Path(folder)),
                             ["README.md:1: is missing", "HACKING.md:1: is missing"])

    def test_links(self):
        self.assertEqual(self.check({
            "README.md": "# Top\n[a](docs/language.md) [b](docs/language.md#loops-and-if_) [c](#top)\n"
                         "[d](https://example.com/none.md) ![e](docs)\n",
            "docs/status.md": "[up](../README.md) [beside](language.md)\n",
        }), [])
        self.assertEqual(self.check({"README.md": "x\n[a](docs/none.md)\n[b](docs/language.md#none)\n[c]: gone.md\n"}), [
            "README.md:2: the link docs/none.md leads to nothing",
            "README.md:3: docs/language.md has no heading #none",
            "README.md:4: the link gone.md leads to nothing",
        ])

    def test_links_in_code_are_none(self):
        self.assertEqual(self.check({"README.md": "`[a](none.md)` and\n```\n[a](none.md)\n```\n`T::if_(c, [&] {})` (x)\n"}),
                         [])

    def test_commands(self):
        self.assertEqual(self.check({"README.md": "`./tw demo`\n```\n./tw test --label ir\n./tw help\n```\n"}), [])
        self.assertEqual(self.check({"README.md": "\n`./tw trace x`\n"}),
                         ["README.md:2: ./tw has no command 'trace'; there are: build, demo, help, test"])

    def test_machine_paths(self):
        for text in ("/" + "work/main/src", "see `/" + "root`", "(/" + "home/me/x)"):
            with self.subTest(text):
                self.assertEqual(len(self.check({"README.md": text + "\n"})), 1)
        self.assertEqual(self.check({"README.md": "~/.cache src/" + "work/x https://example.com/" + "home /workspace /tmp/x\n"}), [])

    def test_open_code_block(self):
        self.assertEqual(self.check({"README.md": "a\n```\nb\n"}), ["README.md:2: this code block has no end"])


@unittest.skipIf(check_docs.find_compiler() is None and os.environ.get("CI") != "true",
                 "none of the compilers that check_docs.py knows is installed: blocks of documents are not compiled")
class RunnableBlocks(Tree):
    compiler = check_docs.find_compiler()

    def test_all_forms(self):
        self.assertEqual(self.check({
            "docs/language.md": "```cpp\n// runnable\nT::clear(c);\n```\n"
                                "```cpp\n// runnable program\nauto A = T::tensor(\"A\", {N}, T::f32);\n```\n"
                                "```cpp\n// runnable\n#include <tilewright/compile.h>\nint main() {}\n```\n"
                                "```cpp\nnot checked\n```\n",
        }), [])

    def test_error_is_reported_at_its_line(self):
        problems = self.check({"docs/language.md": "text\n\n```cpp\n// runnable\nT::clear(c);\nT::no_such_word(c);\n```\n"})
        self.assertEqual(len(problems), 1)
        self.assertTrue(problems[0].startswith("docs/language.md:6: "), problems[0])
        self.assertIn("no_such_word", problems[0])


if __name__ == "__main__":
    unittest.main()
