"""The check of comments finds bad comments in every language and passes good ones; so does the check of documents."""

import contextlib
import io
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import prose
from prose import wrap

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
        """Returns the exit code, the positions of bad comments, and the lines after them."""
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
        self.write("docs/a/b.md", f"# A\n\n{long}\n| {long}\n```sh\n{long}```\n{long}short\n\n    {long}")
        self.write("c.md", long)
        code, _, rest = self.checked()
        self.assertEqual(code, 1)
        self.assertEqual([line.split(" ")[0] for line in rest[:3]], ["c.md:1:", "docs/a/b.md:3:", "docs/a/b.md:10:"])
        for name in ("docs/a/b.md", "c.md"):
            wrap.main([str(self.tree / name)])
        self.assertEqual(self.checked()[0], 0)

    def test_sentences_of_documents(self):
        for text in ("What is new: this.", "Who has no GPU reads this.", "- Whatever comes, goes.", "Fine. Whoever asks, waits.", "**What goes.** It goes.",
                     "> Whether it works is unknown.", "Fine.\nThat which goes, goes.", "1. Those who wait sleep.", "Which it is, nobody knows."):
            with self.subTest(text):
                self.write("a.md", f"# What this is\n\n{text}\n")
                code, _, rest = self.checked()
                self.assertEqual((code, rest[0].split(": ")[:2]), (1, ["a.md:3", "begins with a relative clause"]))
        for text in ("What is new?", "Is it so? Who knows? Nobody.", "[What is supported](b.md) says it.", "That is so.", "How it works:", "| What | is |",
                     "    What code says", "```\nWhat code says\n```", "Those are fine, `it. What` too.", "e.g. what it is", "Whole sentences, whosoever."):
            with self.subTest(text):
                self.write("a.md", f"# Who?\n\n{text}\n")
                self.assertEqual(self.checked()[0], 0)

    def test_lists_have_an_empty_line_before_them(self):
        for text in ("**Decided.**\n- One", "Then\n1. One", "- One\n\n  Then\n  - Inner"):
            with self.subTest(text):
                self.write("a.md", f"{text}\n")
                code, _, rest = self.checked()
                self.assertEqual((code, rest[0].split(": ")[1]), (1, "a list needs an empty line before it"))
        for text in ("Then\n\n- One\n- Two", "- One\n    - Inner", "# A\n- One", "Then\n-1 is no item"):
            with self.subTest(text):
                self.write("a.md", f"{text}\n")
                self.assertEqual(self.checked()[0], 0)


WRAPPED = """\
---
title: What is in front stays as it is, however long {long}
---
# A heading stays {long}

<!-- options: some -->
| a | {long} |
|---|---|
| b | c |
<!-- end -->

- An item, {long}
- another one.

Then

    code {long}

```sh
fenced {long}
```

!!! note
    Of an admonition: {long}

> A quotation: {long}
"""


class Wrap(unittest.TestCase):
    def test_only_prose_is_wrapped(self):
        text = WRAPPED.format(long="of many words " * 15)
        once = wrap.wrap(text)
        self.assertEqual(once.split(), [word for line in once.splitlines() for word in line.split()])
        self.assertEqual(once.replace("\n>", "\n").split(), text.replace("\n>", "\n").split())
        self.assertEqual(wrap.wrap(once), once)
        for block in wrap.blocks(once):
            with self.subTest(block.lines):
                if block.kind == "prose":
                    self.assertTrue(all(len(line) <= wrap.WIDTH for line in block.lines))
                else:
                    self.assertIn("\n".join(block.lines) + "\n", text)
        self.assertEqual(sum(block.kind == "prose" and len(block.lines) > 1 for block in wrap.blocks(once)), 3)
        self.assertIn("\n    ", once[once.index("Of an admonition"):])
        self.assertIn("\n> ", once[once.index("A quotation"):])

    def test_what_fits_stays(self):
        text = "Short lines,\nand short ones,\nstay.\n"
        self.assertEqual(wrap.wrap(text), text)

    def test_no_line_starts_a_block_or_breaks_code(self):
        for word in ("-", "+", "12.", "#", ">", "|", "==="):
            for length in range(100, 125):
                lines = wrap.wrap(f"{'a' * length} {word} {'b' * 60}\n").splitlines()
                self.assertFalse(any(line.startswith(word) for line in lines), lines)
        lines = wrap.wrap(f"{'a ' * 55}`mpiexec -n 4 ./program --its-option` {'b ' * 30}\n").splitlines()
        self.assertTrue(all(line.count("`") % 2 == 0 for line in lines), lines)

    def test_lists(self):
        text = f"1. One {'word ' * 40}\n\n   Its second paragraph {'word ' * 40}\n   - Inner {'word ' * 40}\n"
        lines = wrap.wrap(text).splitlines()
        self.assertEqual({len(line) - len(line.lstrip()) for line in lines if line.strip()}, {0, 3, 5})


if __name__ == "__main__":
    unittest.main()
