"""Tests of tools/pack with a small project in the place of Tilewright."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools" / "pack"

CMAKE = """cmake_minimum_required(VERSION 3.22)
project(packed LANGUAGES NONE)
install(PROGRAMS tw DESTINATION . COMPONENT pack EXCLUDE_FROM_ALL)
install(FILES data DESTINATION . COMPONENT pack EXCLUDE_FROM_ALL)
"""


class PackTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tw-pack-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "CMakeLists.txt").write_text(CMAKE)
        (self.folder / "data").write_bytes(os.urandom(5000))
        self.write_program("first")
        self.build = self.folder / "build"
        subprocess.run(["cmake", "-S", self.folder, "-B", self.build], check=True, capture_output=True)

    def write_program(self, word):
        program = self.folder / "tw"
        program.write_text(f'#!/bin/sh\necho {word} "$@"\n')
        program.chmod(0o755)

    def make(self, *limit, output="pack"):
        command = [TOOLS / "make_pack", self.build, self.folder / output, *limit]
        return subprocess.run(command, capture_output=True, text=True)

    def run_packed(self, *arguments, pack="pack"):
        command = [self.folder / pack / "tw", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def test_runs_where_it_was_moved_to(self):
        made = self.make()
        self.assertEqual(made.returncode, 0, made.stderr)
        (self.folder / "pack").rename(self.folder / "moved")
        shutil.rmtree(self.build)
        self.assertEqual(self.run_packed("test", "a b", pack="moved"), "first test a b\n")
        unpacked = subprocess.run([self.folder / "moved" / "unpack"], capture_output=True, text=True, check=True)
        files = Path(unpacked.stdout.strip())
        self.assertEqual((files / "data").read_bytes(), (self.folder / "data").read_bytes())

    def test_is_unpacked_once_for_each_pack(self):
        self.make()
        self.assertEqual(self.run_packed(), "first\n")
        mark = self.folder / "pack.files" / "mark"
        mark.touch()
        self.assertEqual(self.run_packed(), "first\n")
        self.assertTrue(mark.exists())
        self.write_program("second")
        self.make()
        self.assertEqual(self.run_packed(), "second\n")
        self.assertFalse(mark.exists())

    def test_refuses_what_is_too_large(self):
        made = self.make("4000")
        self.assertEqual(made.returncode, 1)
        self.assertIn("more than the 3 KiB", made.stderr)

    def test_replaces_no_other_folder(self):
        other = self.folder / "other"
        other.mkdir()
        (other / "work").write_text("mine")
        made = self.make(output="other")
        self.assertEqual(made.returncode, 1)
        self.assertIn("is no pack", made.stderr)
        self.assertEqual((other / "work").read_text(), "mine")

    def test_refuses_programs_that_need_libraries(self):
        source = self.folder / "main.cc"
        source.write_text("int main() {}\n")
        command = ["g++", source, "-Wl,--no-as-needed", "-lstdc++", "-o", self.folder / "tw"]
        subprocess.run(command, check=True, capture_output=True)
        made = self.make()
        self.assertEqual(made.returncode, 1)
        self.assertIn("tw needs libstdc++.so.6", made.stderr)


if __name__ == "__main__":
    unittest.main()
