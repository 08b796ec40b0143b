"""`make docs`: the site builds without a warning, fails if a link, an anchor or the menu is wrong, and fetches nothing
from elsewhere.

HR_DOCS=required (make test): missing MkDocs, Playwright or chromium is a failure.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
THERE = all(importlib.util.find_spec(name) for name in ("mkdocs", "material"))
REQUIRED = os.environ.get("HR_DOCS") == "required"
FETCHED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"https?:[^\"]*|<link\b[^>]*\brel=\"(?:stylesheet|preload|icon)\"[^>]*https?:[^\"]*")


def build(tree: Path, site: Path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-B", "-m", "mkdocs", "build", "--strict", "-f", tree / "mkdocs.yml", "-d", site],
                          capture_output=True, text=True, timeout=800, cwd=tree, stdin=subprocess.DEVNULL,
                          env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})


@unittest.skipUnless(THERE or REQUIRED, "mkdocs-material is not installed (requirements-docs.txt)")
class Site(unittest.TestCase):
    def folder(self) -> Path:
        folder = tempfile.TemporaryDirectory(prefix="headrace-docs-")
        self.addCleanup(folder.cleanup)
        return Path(folder.name)

    def test_builds(self):
        site = self.folder() / "site"
        result = build(ROOT, site)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        pages = list(site.rglob("*.html"))
        self.assertGreater(len(pages), 40)
        self.assertTrue((site / "search/search_index.js").is_file(), "the search needs a server")
        for page in pages:
            self.assertIsNone(FETCHED.search(page.read_text(encoding="utf-8")), f"{page.relative_to(site)} fetches from elsewhere")

        self.search(site)

    def search(self, site: Path):
        """A page opened from a directory can be searched without a server or a network."""
        chromium = shutil.which("chromium")
        if not REQUIRED and not (chromium and importlib.util.find_spec("playwright")):
            return
        from playwright.sync_api import sync_playwright
        asked = []
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"], timeout=120_000)
            page = browser.new_page()
            page.set_default_timeout(120_000)
            page.on("request", lambda request: asked.append(request.url) if not request.url.startswith(("file:", "data:", "blob:", "about:")) else None)
            page.goto((site / "adr/index.html").as_uri())
            page.fill("input.md-search__input", "oversubscribed")
            page.wait_for_selector(".md-search-result__item a[href*='wrong.html']")
            browser.close()
        self.assertEqual(asked, [])

    def test_faults_are_found(self):
        """Builds a small tree with the same settings and four faults: a page that is in no menu, a broken anchor, a
        missing page, a missing source."""
        tree = self.folder()
        for name in ("mkdocs.yml", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"):
            shutil.copy(ROOT / name, tree / name)
        shutil.copytree(ROOT / "scripts/docs", tree / "scripts/docs")
        (tree / "docs/adr").mkdir(parents=True)
        (tree / "docs/other.md").write_text("# Other\n\nNobody leads here.\n", encoding="utf-8")
        (tree / "docs/index.md").write_text("# Start\n\n[a](index.md#nowhere) [b](missing.md) [c](../src/missing.cpp)\n", encoding="utf-8")
        settings = (tree / "mkdocs.yml").read_text(encoding="utf-8")
        start = settings.index("\nnav:")
        (tree / "mkdocs.yml").write_text(settings[:start] + "\nnav: [{Start: index.md}, {Internals: []}]\n", encoding="utf-8")
        result = build(tree, tree / "site")
        self.assertNotEqual(result.returncode, 0)
        for fault in ("other.md", "#nowhere", "missing.md", "src/missing.cpp"):
            self.assertIn(fault, result.stderr)


if __name__ == "__main__":
    unittest.main()
