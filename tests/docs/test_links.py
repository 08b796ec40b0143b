"""Links between the documents lead somewhere, headings included; files that the text names are there."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|<(?:img|source) [^>]*?src(?:set)?=\"([^\"]+)\"")
# Pages that describe the present tree; decisions and changes may name deleted files.
PRESENT = ("CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md")
FILE = re.compile(r"`((?:\.ci|api|apps|bench|cmake|docs|include|kernels|launcher|python|scripts|src|tests|tools)/[\w./+-]*)`")


def prose(path):
    """The text without code, which may look like a link."""
    text = re.sub(r"^( *)(```|~~~).*?^\1\2$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path):
    """Anchors of the headings, as GitHub and its like make them."""
    found = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in found}


class Links(unittest.TestCase):
    def test_every_link(self):
        seen = 0
        for page in PAGES:
            for match in LINK.finditer(prose(page)):
                target = match[1] or match[2]
                if re.match(r"[a-z]+:", target):
                    continue
                seen += 1
                with self.subTest(page=str(page.relative_to(ROOT)), target=target):
                    file, _, anchor = target.partition("#")
                    path = (page.parent / file).resolve() if file else page
                    self.assertTrue(path.exists(), "there is no such file")
                    if anchor:
                        self.assertIn(anchor, anchors(path))
        self.assertGreater(seen, 50)

    def test_files_that_pages_name(self):
        for name in PRESENT:
            found = FILE.findall((ROOT / name).read_text(encoding="utf-8"))
            self.assertTrue(found or name.endswith("glossary.md"))
            for file in found:
                with self.subTest(page=name, file=file):
                    self.assertTrue((ROOT / file).exists(), "there is no such file")


if __name__ == "__main__":
    unittest.main()
