"""Few includes violate the order of a layer's rooms, and an additional one is detected."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST = {"src/p2p": 3, "src/comm": 3, "launcher": 0}


def count(*words):
    return subprocess.run([sys.executable, "-B", ROOT / "scripts/rooms.py", *words], capture_output=True, text=True, timeout=60)


def number(text):
    return int(text.split(": ")[1].split()[0])


class Rooms(unittest.TestCase):
    def copy(self, folder):
        scratch = tempfile.TemporaryDirectory(prefix="headrace-rooms-")
        self.addCleanup(scratch.cleanup)
        return Path(shutil.copytree(ROOT / folder, Path(scratch.name) / Path(folder).name))

    def test_tree(self):
        for folder, most in MOST.items():
            with self.subTest(folder=folder):
                result = count("--names", ROOT / folder)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertLessEqual(number(result.stdout), most, result.stdout)

    def test_one_more_is_found(self):
        for folder, file, line in (("src/comm", "group.hpp", '#include "comm/spawn.hpp"'),
                                   ("src/p2p", "match/matching.hpp", '#include "p2p/core/wire.hpp"'),
                                   ("launcher", "words/values.hpp", '#include "tree/tree.hpp"')):
            with self.subTest(folder=folder):
                tree = self.copy(folder)
                before = number(count(tree).stdout)
                text = (tree / file).read_text(encoding="utf-8")
                (tree / file).write_text(text.replace("#pragma once\n", f"#pragma once\n{line}\n", 1), encoding="utf-8")
                self.assertGreater(number(count(tree).stdout), before)


if __name__ == "__main__":
    unittest.main()
