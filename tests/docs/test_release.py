"""The version is defined in one place (CMakeLists.txt), and the files that repeat it agree: the changelog and CITATION.cff."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


VERSION = re.search(r"project\(headrace VERSION ([0-9.]+)", read("CMakeLists.txt"))[1]


class Release(unittest.TestCase):
    def test_changelog(self):
        """Unreleased first, then releases with numbers and dates, the newest first; the version is the newest or a later one."""
        headings = re.findall(r"^## (.+)$", read("CHANGELOG.md"), re.M)
        self.assertEqual(headings[0], "Unreleased")
        releases = [re.fullmatch(r"([0-9]+)\.([0-9]+)\.([0-9]+) - (\d{4}-\d{2}-\d{2})", heading) for heading in headings[1:]]
        self.assertTrue(all(releases), f"a release reads '1.2.3 - 2026-11-26': {headings[1:]}")
        numbers = [tuple(map(int, release.groups()[:3])) for release in releases]
        dates = [release[4] for release in releases]
        self.assertEqual(numbers, sorted(set(numbers), reverse=True))
        self.assertEqual(dates, sorted(dates, reverse=True))
        version = tuple(map(int, VERSION.split(".")))
        self.assertTrue(not numbers or version >= numbers[0], f"CMakeLists.txt says {VERSION}, the changelog has a later release")

    def test_citation(self):
        citation = read("CITATION.cff")
        self.assertEqual(re.search(r"^version: \"?([0-9.]+)", citation, re.M)[1], VERSION)
        for field in ("cff-version", "message", "title", "authors", "license"):
            self.assertRegex(citation, rf"(?m)^{field}:", f"CITATION.cff lacks {field}")

    def test_one_place(self):
        self.assertIn("provider = \"scikit_build_core.metadata.regex\"", read("pyproject.toml"))
        self.assertNotRegex(read("pyproject.toml"), r"(?m)^version *=", "pyproject.toml takes the version from CMakeLists.txt")


if __name__ == "__main__":
    unittest.main()
