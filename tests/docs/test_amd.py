"""Each page that names AMD's GPUs says that the support for them is compiled and emulated, and links to docs/amd.md.

docs/amd.md itself and its row in docs/index.md have the words, too. Decisions (docs/adr) record what was decided and
are exempt, as are logs of earlier runs (docs/history) and pages that name only AMD's processors.
"""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").rglob("*.md") if not {"adr", "history"} & set(page.parts))]
PROCESSORS = re.compile(r"\bAMD (?:EPYC|processors?)\b")
GPUS = re.compile(r"\bAMD\b|\bHIP\b|(?<![A-Za-z])(?i:rocm|hip)(?=[A-Z_]|\b)")
WORDS = "compiled and emulated"
LINK = re.compile(r"\]\((?:[\w./]*/)?amd\.md(?:#[\w-]+)?\)")


def names_gpus(text: str) -> bool:
    return GPUS.search(PROCESSORS.sub("", " ".join(text.split()))) is not None


def shortcomings(name: str, text: str) -> list[str]:
    """Returns what a page that names AMD's GPUs lacks."""
    if not names_gpus(text):
        return []
    lacks = [] if WORDS in " ".join(text.split()).lower() else [f'the words "{WORDS}"']
    return lacks + ([] if name == "amd.md" or LINK.search(text) else ["a link to docs/amd.md"])


class Amd(unittest.TestCase):
    def test_pages(self):
        seen = 0
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            seen += names_gpus(text)
            with self.subTest(page=str(page.relative_to(ROOT))):
                self.assertEqual(shortcomings(page.name, text), [])
        self.assertGreater(seen, 8)

    def test_names_are_found(self):
        for text in ("`hipStream_t` works", "`MPIX_Query_hip_support`", "`MPIX_Query_rocm_support`", "ROCm 6", "GPUs of\nAMD"):
            with self.subTest(text):
                self.assertEqual(len(shortcomings("page.md", text)), 2)
        for text in ("two cores of an AMD\nEPYC", "on AMD processors", "a ship"):
            with self.subTest(text):
                self.assertEqual(shortcomings("page.md", text), [])
        self.assertEqual(shortcomings("page.md", "AMD GPUs are compiled\nand emulated ([AMD GPUs](../amd.md#build))"), [])


if __name__ == "__main__":
    unittest.main()
