"""The text of docs/course/: runs every command in quick form, and compares every diff and quotation with the sources.

A line of a `sh` block is a command, or `export NAME=VALUE` for those after it; `# exit N: sentence` after it states
that it fails with N; it is then run unchanged. HR_BUILD comes from CMake; HR_DEVICE is `host`, where no GPU is seen, or
`cuda`, with the fake driver.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs/course").glob("*.md"))
BUILD = Path(os.environ["HR_BUILD"])
ON_GPU = os.environ["HR_DEVICE"] == "cuda"
FORTRAN = ("halo3d-openacc", "laplace2d-openacc", "laplace2d-openmp")  # left out without a compiler
PROGRAMS = ("diffusion2d", "halo3d", *FORTRAN)
QUICK = {"--steps": "5", "--check-every": "2", "--grid": "32,48", "--local": "6", "--iterations": "5", "--size": "32,16,8"}


def blocks(page, language):
    """The mark before a fenced block (a comment of Markdown, or empty) and the block's lines."""
    found, lines, mark = [], None, ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if lines is None:
            if line.strip() == f"```{language}":
                indent, lines = len(line) - len(line.lstrip()), []
            else:
                mark = line.strip() if line.startswith("<!-- ") else ""
        elif line.strip() == "```":
            found.append((mark, lines))
            lines, mark = None, ""
        else:
            lines.append(line[indent:])
    return found


def commands():
    for page in PAGES:
        for _, lines in blocks(page, "sh"):
            for line in filter(str.strip, lines):
                if not line.startswith("#"):
                    yield page.name, line


def quick(words):
    """The same command with small numbers."""
    words = list(words)
    for place, word in enumerate(words[:-1]):
        if word in QUICK:
            words[place + 1] = QUICK[word]
    return words


class Text(unittest.TestCase):
    def setUp(self):
        self.exported = {}

    def run_line(self, line):
        words = shlex.split(line, comments=True)
        fails = re.search(r"# exit (\d+): (.*)", line)
        named = ["laplace2d-openacc" if word == "laplace2d" else word for word in words]  # a chapter, too
        fortran = next((word for word in named if word in FORTRAN), "")
        if fortran and not (BUILD / "bin" / fortran).is_file():
            self.skipTest(f"{fortran} was not built: no Fortran compiler")
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PATH": f"{BUILD}/bin:{os.environ['PATH']}",
                       **self.exported}
        if words[0] == "export":
            self.exported |= dict([words[1].split("=", 1)])
            return
        if words[0] == "ctest":
            words = ["ctest", "--test-dir", str(BUILD), "-N", *words[words.index("-R"):]]
        elif words[0] == "headrace":
            small = ["--quick", "--no-png", "--build", str(BUILD)] if words[2:] else []
            words = [sys.executable, "-B", "-m", *words, *small]
        elif words[0] in ("mpiexec", *PROGRAMS):
            self.assertTrue(words[0] != "mpiexec" or words[3] in PROGRAMS, line)
            words = words if fails else quick(words)
            if words[0] == "mpiexec":
                words[1:1] = ["--timeout", "60"]
        else:
            self.fail(f"a reader is told to type what this test does not know: {line}")
        with tempfile.TemporaryDirectory() as work:
            done = subprocess.run(words, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, cwd=work,
                                  env=environment)
        said = f"{line}\n{shlex.join(words)}: exit code {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
        if fails:
            self.assertEqual(done.returncode, int(fails[1]), said)
            self.assertIn(fails[2], done.stderr, said)
        elif re.search(r"--device (cuda|gpu)\b", line) and fortran and done.returncode == 3:
            self.assertIn("directives find no GPU", done.stderr, said)  # they cannot use the fake driver
        elif "--device cuda" in line and not ON_GPU and not fortran:
            self.assertIn(done.returncode, (2, 3), said)  # as for a reader without a GPU
            self.assertIn("--device", done.stderr, said)
        else:
            self.assertEqual(done.returncode, 0, said)
        if words[0] == "ctest":
            self.assertRegex(done.stdout, r"Total Tests: [1-9]", said)

    def test_every_command(self):
        lines = list(commands())
        self.assertGreater(len(lines), 30)
        for page, line in lines:
            with self.subTest(page=page, line=line):
                self.run_line(line)

    def assert_in_order(self, lines, file, what):
        """The file contains all of these lines in this order, perhaps with others between them."""
        left = iter((ROOT / file).read_text(encoding="utf-8").splitlines())
        for line in lines:
            self.assertTrue(any(line == other for other in left), f"{what}: {file} has no more line {line!r}")

    def test_every_diff(self):
        found = [(page.name, mark, lines) for page in PAGES for mark, lines in blocks(page, "diff")]
        self.assertGreater(len(found), 5)
        for page, mark, lines in found:
            with self.subTest(page=page, mark=mark):
                said = re.fullmatch(r"<!-- diff (\S+) (\S+) -->", mark)
                self.assertTrue(said, "a diff says before it of which files: <!-- diff OLD NEW -->")
                self.assertTrue(all(line[:1] in ("-", "+", " ") for line in lines), lines)
                self.assert_in_order([line[1:] for line in lines if line[0] != "+"], said[1], page)
                self.assert_in_order([line[1:] for line in lines if line[0] != "-"], said[2], page)
                for sign, other in (("-", said[2]), ("+", said[1])):
                    changed = [line[1:] for line in lines
                               if line[0] == sign and line[1:].strip() not in ("", "{", "}", "});")]
                    if changed:  # some lines are not in the other file
                        text = (ROOT / other).read_text(encoding="utf-8").splitlines()
                        self.assertTrue(any(line not in text for line in changed), f"{other} has all of {changed}")

    def test_every_quotation(self):
        for page in PAGES:
            for mark, lines in blocks(page, "cpp") + blocks(page, "fortran"):
                with self.subTest(page=page.name, mark=mark):
                    said = re.fullmatch(r"<!-- from (\S+) -->", mark)
                    self.assertTrue(said, "a quotation says before it of which file: <!-- from FILE -->")
                    self.assertIn("\n".join(lines) + "\n", (ROOT / said[1]).read_text(encoding="utf-8"))

    def test_chapters_and_exercises(self):
        """Pages, chapter data and solutions refer to one another."""
        index = (ROOT / "docs/course/index.md").read_text(encoding="utf-8")
        solutions = (ROOT / "tests/course/test_exercises.py").read_text(encoding="utf-8")
        for file in sorted((ROOT / "python/headrace/course/chapters").glob("*.json")):
            chapter = json.loads(file.read_text(encoding="utf-8"))
            with self.subTest(chapter=file.stem):
                page = (ROOT / chapter["page"]).read_text(encoding="utf-8")
                self.assertIn(f"({Path(chapter['page']).name})", index)
                self.assertTrue(chapter["exercises"])
                for exercise in chapter["exercises"]:
                    self.assertIn(f"`{exercise['test']}`", page)
                    self.assertIn(f"    def {exercise['test']}(self):", solutions)


if __name__ == "__main__":
    unittest.main()
