"""Each decision (docs/adr) has a unique number, five lines at the start, and a row in the index."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/adr"
DECISIONS = sorted(FOLDER.glob("0*.md"))
FIELDS = ("Problem", "Decision", "Evidence", "Cost", "Status")
TITLE = re.compile(r"# ADR (\d+): (.+)\n\n")
LONGEST = 500  # characters of a field


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def fields(path: Path) -> dict[str, str]:
    """Returns the list after the title, by its bold words."""
    top = text(path)[TITLE.match(text(path)).end():].split("\n\n")[0]
    found = re.findall(r"^- \*\*(\w+)\*\*: (.*(?:\n  .*)*)", top, re.M)
    return {name: " ".join(value.split()) for name, value in found}


class Decisions(unittest.TestCase):
    def test_numbers(self):
        self.assertGreater(len(DECISIONS), 40)
        for number, path in enumerate(DECISIONS, 1):
            with self.subTest(path.name):
                self.assertEqual(int(path.name[:4]), number)
                self.assertEqual(int(TITLE.match(text(path))[1]), number)

    def test_five_lines(self):
        for path in DECISIONS:
            with self.subTest(path.name):
                found = fields(path)
                self.assertEqual(tuple(found), FIELDS)
                for name, value in found.items():
                    self.assertTrue(20 < len(value) < LONGEST or name == "Status", f"{name}: {len(value)} characters")
                self.assertRegex(found["Status"], r"^(accepted|replaced by \[ADR \d+\]\([\w.-]+\)), 20\d\d-\d\d-\d\d\b")

    def test_index(self):
        """README.md contains a row for each decision, with its title."""
        rows = re.findall(r"^\| \[(\d+)\]\(([\w.-]+)\) \| (.+?) \|", text(FOLDER / "README.md"), re.M)
        self.assertEqual([(number, name, title) for number, name, title in rows],
                         [(TITLE.match(text(path))[1], path.name, TITLE.match(text(path))[2]) for path in DECISIONS])


if __name__ == "__main__":
    unittest.main()
