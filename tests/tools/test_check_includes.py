"""tools/check_includes.py on small trees."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_includes


class CheckIncludes(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return check_includes.check_tree(Path(folder))

    def test_earlier_folder_and_own_folder(self):
        self.assertEqual(self.check({
            "src/ir/expr.h": "#pragma once\n",
            "src/ops/copy.h": "#pragma once\n",
            "src/ops/copy.cc": '#include "ops/copy.h"\n#include "ir/expr.h"\n#include <vector>\n#include <fmt/format.h>\n',
        }), [])

    def test_later_folder(self):
        self.assertEqual(self.check({
            "src/ops/copy.h": "#pragma once\n",
            "src/ir/expr.cc": '// first\n\n#include "ops/copy.h"\n',
        }), [f"src/ir/expr.cc:3: src/ir may not include src/ops, which comes after it "
             f"({' < '.join(check_includes.SRC_ORDER)})"])

    def test_codegen_may_include_passes_but_not_the_reverse(self):
        files = {"src/passes/a.h": "#pragma once\n", "src/codegen/b.h": "#pragma once\n"}
        self.assertEqual(self.check(files | {"src/codegen/c.cc": '#include "passes/a.h"\n'}), [])
        self.assertEqual(len(self.check(files | {"src/passes/c.cc": '#include "codegen/b.h"\n'})), 1)

    def test_sibling_path_out_of_the_folder(self):
        problems = self.check({"src/driver/a.h": "#pragma once\n", "src/ir/b.cc": '#include "../driver/a.h"\n'})
        self.assertEqual(len(problems), 1)
        self.assertIn("src/ir may not include src/driver", problems[0])

    def test_src_may_not_include_tools(self):
        problems = self.check({"tools/tw/demo.h": "#pragma once\n", "src/ir/b.cc": '#include "../../tools/tw/demo.h"\n'})
        self.assertEqual(problems, ["src/ir/b.cc:1: src/ may not include tools/tw/demo.h"])

    def test_unknown_folder_of_src(self):
        problems = self.check({"src/utils/a.cc": "", "src/main.cc": ""})
        self.assertEqual([p.split(": ")[0] for p in problems], ["src/main.cc:1", "src/utils/a.cc:1"])

    def test_missing_file(self):
        self.assertEqual(self.check({"src/ir/a.cc": '#include "ir/none.h"\n#include <tilewright/none.h>\n'}),
                         ["src/ir/a.cc:1: ir/none.h does not exist", "src/ir/a.cc:2: tilewright/none.h does not exist"])

    def test_pragma_once(self):
        self.assertEqual(self.check({"tests/ir/a.h": "// #pragma once\n"}),
                         ["tests/ir/a.h:1: a header without #pragma once"])

    def test_public_header(self):
        files = {
            "include/tilewright/error.h": "#pragma once\n#include <string>\n",
            "include/tilewright/device/cpu/gemm.h": "#pragma once\n#include <immintrin.h>\n",
            "src/ir/expr.h": "#pragma once\n#include <tilewright/error.h>\n",
        }
        public = "include/tilewright/compile.h"
        self.assertEqual(self.check(files | {public: "#pragma once\n#include <tilewright/error.h>\n"}), [])
        for line in ('#include "ir/expr.h"', "#include <fmt/format.h>", "#include <tilewright/device/cpu/gemm.h>"):
            with self.subTest(line):
                problems = self.check(files | {public: f"#pragma once\n{line}\n"})
                self.assertEqual(len(problems), 1)
                self.assertTrue(problems[0].startswith(f"{public}:2: "))

    def test_device_library(self):
        folder = "include/tilewright/device/cpu"
        files = {
            "include/tilewright/dtype.h": "#pragma once\n",
            f"{folder}/vector.h": "#pragma once\n#include <stdint.h>\n",
            f"{folder}/gemm.h": '#pragma once\n#include "vector.h"\n',
        }
        self.assertEqual(self.check(files), [])
        problems = self.check(files | {f"{folder}/copy.h": "#pragma once\n#include <tilewright/dtype.h>\n"})
        self.assertEqual(problems, [f"{folder}/copy.h:2: the device library includes only itself, not tilewright/dtype.h"])

    def test_tests_include_anything_of_src(self):
        self.assertEqual(self.check({
            "src/lang/builder.h": "#pragma once\n",
            "tests/harness/golden.h": "#pragma once\n",
            "tests/ir/near.h": "#pragma once\n",
            "tests/ir/a_test.cc": '#include "lang/builder.h"\n#include "harness/golden.h"\n#include "near.h"\n',
        }), [])

    def test_text_that_is_no_include(self):
        self.assertEqual(self.check({
            "src/ir/a.cc": '/*\n#include "none.h"\n*/\nauto text = R"cc(\n#include "none.h"\n)cc";\n'
                           "const char* url = \"//\"; // x\nint million = 1'000'000;\n",
        }), [])

    def test_line_numbers_after_raw_strings(self):
        self.assertEqual(self.check({"src/ir/a.cc": 'auto text = R"(\n\n)";\n#include "none.h"\n'}),
                         ["src/ir/a.cc:4: none.h does not exist"])


class Repository(unittest.TestCase):
    def test_order_names_existing_folders_only(self):
        src = Path(__file__).resolve().parents[2] / "src"
        self.assertEqual({p.name for p in src.iterdir() if p.is_dir()} - set(check_includes.SRC_ORDER), set())


if __name__ == "__main__":
    unittest.main()
