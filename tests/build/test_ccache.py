"""scripts/ccache.sh with precompiled headers: an edit that changes only comments must not bring back a header that was
precompiled before it, which GCC would then include a second time; and a second checkout must reuse what the first one
has compiled."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "ccache.sh"
CCACHE, CXX = os.environ.get("HR_CCACHE", "ccache"), os.environ.get("HR_CXX", "g++")


class Checkout:
    """A source tree with one header, which is precompiled, and one source."""

    def __init__(self, place: Path, cache: Path) -> None:
        self.tree, self.build = place, place / "build"
        self.build.mkdir(parents=True)
        self.settings = {**{name: value for name, value in os.environ.items() if not name.startswith("CCACHE_")},
                         "CCACHE_DIR": str(cache)}
        (self.build / "all.hxx").write_text('#pragma GCC system_header\n#include "thing.hpp"\n')
        (self.build / "all.hxx.cxx").write_text("")

    def write(self, comment: str, value: int) -> None:
        (self.tree / "use.cpp").write_text(f'#include "thing.hpp"\nint use() {{ return Thing{{{value}}}.value; }}\n')
        (self.tree / "thing.hpp").write_text(f"// {comment}\n#pragma once\nclass Thing {{\n public:\n  int value;\n}};\n")

    def compile(self, *words: str) -> None:
        done = subprocess.run([SCRIPT, self.tree, CCACHE, CXX, f"-I{self.tree}", "-O1", "-Winvalid-pch", *words], cwd=self.build,
                              env=self.settings, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise AssertionError(done.stderr)

    def make(self) -> None:
        self.compile("-x", "c++-header", "-include", f"{self.build}/all.hxx", "-MD", "-MT", "all", "-MF", "all.hxx.gch.d", "-o",
                     "all.hxx.gch", "-c", f"{self.build}/all.hxx.cxx")
        self.compile("-include", f"{self.build}/all.hxx", "-MD", "-MT", "use", "-MF", "use.o.d", "-o", "use.o", "-c",
                     f"{self.tree}/use.cpp")

    def hits(self) -> int:
        told = subprocess.run([CCACHE, "--print-stats"], env=self.settings, capture_output=True, text=True, check=True).stdout
        counts = dict(line.split("\t") for line in told.splitlines())
        return int(counts["direct_cache_hit"]) + int(counts["preprocessed_cache_hit"])


class CcacheTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="headrace-ccache-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.cache = self.folder / "cache"

    def test_an_edit_of_comments_alone(self) -> None:
        checkout = Checkout(self.folder / "one", self.cache)
        for value, comment in enumerate(("A thing.", "A thing, said in more words than before.", "A thing.")):
            checkout.write(comment, value)
            checkout.make()

    def test_a_second_checkout(self) -> None:
        for name in ("one", "two"):
            checkout = Checkout(self.folder / name, self.cache)
            checkout.write("A thing.", 0)
            before = checkout.hits()
            checkout.make()
        self.assertEqual(checkout.hits() - before, 2)


if __name__ == "__main__":
    unittest.main()
