"""Links between the documents have targets, including headings; files that the text mentions exist."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|<(?:img|source) [^>]*?src(?:set)?=\"([^\"]+)\"")
# Pages that describe the current tree; decisions and changes may mention deleted files.
PRESENT = ("CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md", *(f"docs/architecture/{page.name}" for page in sorted((ROOT / "docs/architecture").glob("*.md"))))
SOURCES = (".c", ".cmake", ".cpp", ".cu", ".f90", ".F90", ".h", ".hpp", ".in", ".json", ".py", ".sh", ".ts", ".txt", ".yaml")
FILE = re.compile(r"`((?:\.ci|api|apps|bench|cmake|docs|include|kernels|launcher|python|scripts|src|tests|tools)/[\w./+-]*)`")
# Matches "`send_plain()` in `src/p2p/message/send.cpp`".
FUNCTION = re.compile(r"`(?:\w+::)*(\w+)\(\)`\s+in\s+`([\w./+-]+)`")


def prose(path):
    """Returns the text without code, which may look like a link."""
    text = re.sub(r"^( *)(```|~~~).*?^\1\2$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path):
    """Returns the anchors of the headings, as forges such as GitHub generate them."""
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

    def test_each_page_is_reachable(self):
        """All pages can be reached from docs/index.md and from README.md through links alone; a link to a folder leads
        to all its pages."""
        left_out = {ROOT / "docs/conformance-results.md"}  # this page is included in another
        for start in (ROOT / "docs/index.md", ROOT / "README.md"):
            found, ahead = set(), [start]
            while ahead:
                page = ahead.pop()
                if page in found:
                    continue
                found.add(page)
                for match in LINK.finditer(prose(page)):
                    target = (match[1] or match[2]).partition("#")[0]
                    path = (page.parent / target).resolve()
                    if re.match(r"[a-z]+:", target) or not target:
                        continue
                    ahead += sorted(path.glob("*.md")) if path.is_dir() else [path] if path.suffix == ".md" and path.exists() else []
            missing = set((ROOT / "docs").rglob("*.md")) - found - left_out
            self.assertEqual({str(page.relative_to(ROOT)) for page in missing}, set(), f"no way leads there from {start.name}")

    def test_pages_that_sources_name(self):
        """Pages mentioned in comments, messages and help texts exist."""
        for folder in ("api", "apps", "bench", "cmake", "include", "kernels", "launcher", "monitor/src", "python", "scripts", "src", "tools", "wrappers"):
            for path in sorted((ROOT / folder).rglob("*")):
                if path.suffix not in SOURCES:
                    continue
                for page in re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text(encoding="utf-8", errors="replace")):
                    with self.subTest(source=str(path.relative_to(ROOT)), page=page):
                        self.assertTrue((ROOT / page).exists(), "there is no such page")

    def test_files_that_pages_name(self):
        for name in PRESENT:
            found = FILE.findall((ROOT / name).read_text(encoding="utf-8"))
            self.assertTrue(found or name.endswith("glossary.md"))
            for file in found:
                with self.subTest(page=name, file=file):
                    self.assertTrue((ROOT / file).exists(), "there is no such file")

    def test_functions_that_pages_name(self):
        """A function that a page locates in a file exists there."""
        seen = 0
        for name in PRESENT:
            for function, file in FUNCTION.findall((ROOT / name).read_text(encoding="utf-8")):
                seen += 1
                with self.subTest(page=name, function=function, file=file):
                    self.assertTrue(re.search(rf"\b{function}\(", (ROOT / file).read_text(encoding="utf-8")), "it has no such function")
        self.assertGreater(seen, 50)

    def test_glossary_is_short(self):
        """A longer glossary is a sign of coined names where the field has established terms."""
        rows = re.findall(r"^\| \*\*", (ROOT / "docs/glossary.md").read_text(encoding="utf-8"), re.M)
        self.assertTrue(0 < len(rows) <= 25, len(rows))


if __name__ == "__main__":
    unittest.main()
