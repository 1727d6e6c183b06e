import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "plant_bugs"))

import plant_bugs  # noqa: E402


class PlantBugsTest(unittest.TestCase):
    def test_every_bug_applies_to_the_tree(self):
        bugs = plant_bugs.load_bugs(ROOT / "tools" / "plant_bugs" / "bugs.toml", None)
        self.assertGreaterEqual(len(bugs), 30)
        for bug in bugs:
            with self.subTest(bug["name"]):
                self.assertNotEqual(plant_bugs.planted(ROOT, bug), (ROOT / bug["file"]).read_text())

    def test_a_pattern_that_is_not_there_is_an_error(self):
        bug = {"name": "nowhere", "file": "README.md", "find": "a text that no file has", "replace": "another"}
        with self.assertRaises(SystemExit):
            plant_bugs.planted(ROOT, bug)

    def test_a_bug_changes_one_token(self):
        plant_bugs.check_one_token({"name": "one", "find": "a < b", "replace": "a <= b"})
        with self.assertRaises(SystemExit):
            plant_bugs.check_one_token({"name": "two", "find": "a < b", "replace": "b < a"})


if __name__ == "__main__":
    unittest.main()
