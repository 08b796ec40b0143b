"""The check of comments finds bad ones in every language, passes good ones, and counts long lines of documents."""

import contextlib
import io
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import prose

GOOD = """\
// Names a request; stale once its process has failed.
int a;  // What stands behind code does not count.
// Returns the sender, or -1:
// what no process has sent, and
// What a second line begins with, do not count.
// Offset of the first byte.
const char* text = "// What is in a string";
#define What // Who
/* Asks again. */
"""


class Prose(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.tree = Path(scratch.name)

    def write(self, name, text):
        file = self.tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def checked(self):
        """The exit code, the places of bad comments, and the lines after them."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = prose.main(self.tree)
        lines = output.getvalue().splitlines()
        places = [line.rsplit(": ", 1)[0] for line in lines if line.endswith("bad")]
        return code, places, [line for line in lines if not line.endswith("bad")]

    def test_every_language(self):
        for name in ("a.c", "b.h", "src/c.cpp", "d.hpp", "e.cu"):
            for text in ("// What: bad\n", "//Who: bad\n", "  /* Of a block: bad\n", "int a;\n\n// Whether: bad\n", "#include <a>\n// As: bad\n"):
                with self.subTest(name=name, text=text):
                    self.write(name, text)
                    self.assertEqual(self.checked()[1], [f"{name}:{text.count(chr(10))}: {text.splitlines()[-1].strip()[:-5]}"])
            self.write(name, GOOD)
            self.assertEqual(self.checked()[1], [])
        for name in ("a.py", "b.sh", "c.cmake", "d/CMakeLists.txt", "e.sh.in"):
            with self.subTest(name=name):
                self.write(name, "a\n    # How it goes: bad\nb\n")
                self.assertEqual(self.checked()[1], [f"{name}:2: # How it goes"])
                self.write(name, "#!/bin/What\n# Returns it.\n# Where it is, does not count.\nb  # That neither\n# Osaka, Ofen, Asks\n")
                self.assertEqual(self.checked()[1], [])

    def test_programs_without_a_suffix(self):
        self.write("run", "#!/usr/bin/env python3\n\n# Those: bad\n")
        self.write("data", "# Those: bad\n")
        self.assertEqual(self.checked()[1], ["run:3: # Those"])

    def test_every_word(self):
        for word in "Who What Whoever Whatever Whether That Of As Those Which How Where Whom Whose".split():
            with self.subTest(word):
                self.assertEqual([number for number, _ in prose.bad_comments([f"// {word} it is."], prose.mark_of(Path("a.cpp")))], [1])
                self.assertEqual(list(prose.bad_comments([f"// {word}ing it is.", "", "// the " + word], prose.mark_of(Path("a.cpp")))), [])

    def test_each_block_counts_once(self):
        self.write("a.cpp", "// What is: bad\n// What is not\nint a;\n// Where it is: bad\n")
        self.assertEqual(self.checked()[1], ["a.cpp:1: // What is", "a.cpp:4: // Where it is"])

    def test_the_limit(self):
        for count, code in ((prose.MOST, 0), (prose.MOST + 1, 1)):
            self.write("a.cpp", "// What: bad\nint a;\n" * count)
            found, places, rest = self.checked()
            self.assertEqual((found, len(places)), (code, count))
            self.assertIn(f"{count} comments begin", rest[0])
            self.assertEqual("Rewrite" in rest[-1], code == 1)

    def test_other_files(self):
        for name in ("a.md", "b.yaml", "build/c.cpp", "build-2/d.py", ".venv/e.py", "monitor/node_modules/f.py"):
            self.write(name, "# What: bad\n// What: bad\n")
        self.assertEqual(self.checked()[:2], (0, []))

    @unittest.skipUnless(shutil.which("git"), "no git")
    def test_tracked_files_alone(self):
        self.write("a.cpp", "// What: bad\n")
        self.write("b.cpp", "// What: bad\n")
        subprocess.run(["git", "init", "-q", self.tree], check=True)
        subprocess.run(["git", "-C", self.tree, "add", "a.cpp"], check=True)
        self.assertEqual(self.checked()[1], ["a.cpp:1: // What"])

    def test_long_lines(self):
        long = "word " * 40 + "\n"
        self.write("docs/a/b.md", f"# A\n\n{long}\n| {long}\n```sh\n{long}```\n{long}short\n")
        self.write("c.md", long)
        code, _, rest = self.checked()
        self.assertEqual((code, rest[-1].split()[0]), (0, "2"))


if __name__ == "__main__":
    unittest.main()
