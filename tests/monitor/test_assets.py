"""The committed build of the page is the result of its sources. Installs the packages of the lock file with npm ci,
into a copy."""

import json
import os
import shutil
import subprocess
import unittest

import support

PAGE = support.ROOT / "monitor"
UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH", "E403", "network")
ASSETS = support.ROOT / "python/headrace/monitor/assets"


class Assets(support.Scratch):
    def test_no_registry_is_named(self):
        self.assertNotIn("resolved", (PAGE / "package-lock.json").read_text())
        for name, package in json.loads((PAGE / "package-lock.json").read_text())["packages"].items():
            self.assertTrue(not name or package.get("integrity"), name)

    def test_nothing_is_fetched_from_elsewhere(self):
        for file in ASSETS.iterdir():
            self.assertNotRegex(file.read_text(encoding="utf-8"), r"(src|href|url|import)\s*[=(]\s*['\"]?https?://", file.name)

    def install(self, copy):
        """Skips if no registry of npm can be reached; any other error is a failure."""
        try:
            done = subprocess.run(["npm", "ci", "--prefer-offline", "--fetch-retries", "1"], cwd=copy, capture_output=True, text=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            self.skipTest("npm ci has no answer within 60 s")
        if done.returncode != 0 and any(word in done.stderr for word in UNREACHABLE):
            self.skipTest(f"no registry of npm can be reached: {done.stderr[-300:]}")
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])

    @unittest.skipUnless(shutil.which("npm"), "npm is not here; it is the one thing of this test that make does not install")
    def test_a_new_build_is_the_same(self):
        copy = self.folder / "monitor"
        shutil.copytree(PAGE, copy, ignore=shutil.ignore_patterns("node_modules"))
        self.install(copy)
        done = subprocess.run(["npm", "run", "build"], cwd=copy, capture_output=True, text=True, timeout=60,
                              env={**os.environ, "HR_ASSETS": str(self.folder / "assets")})
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
        for old in ASSETS.iterdir():
            self.assertEqual(old.read_text(encoding="utf-8"), (self.folder / "assets" / old.name).read_text(encoding="utf-8"), f"{old.name}: make monitor-page builds it anew")
        self.assertEqual(len(list(ASSETS.iterdir())), len(list((self.folder / "assets").iterdir())))


if __name__ == "__main__":
    unittest.main()
