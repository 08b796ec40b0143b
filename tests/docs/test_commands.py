"""The commands of CONTRIBUTING.md work: run if that is quick, otherwise checked that their targets, presets, tests and
scripts exist.

HR_BUILD, HR_FAKE: the build directory that is used instead of build/pip, the fake driver's directory.
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
BUILD = Path(os.environ["HR_BUILD"])
FAKE = os.environ["HR_FAKE"]
PAGE = ROOT / "CONTRIBUTING.md"
# Commands for a reader's machine: known, but not run here.
ELSEWHERE = (". .venv/bin/activate", "git worktree ")
QUICK = {"compare.py": ["--sizes", "8", "--runs", "1", "--samples", "2"], "gpu.py": ["--quick", "--runs", "1", "--only", "latency"],
         "halo3d": ["--local", "8", "--steps", "4"]}


def commands():
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def without(words, option):
    """Returns `words` without an option and its value."""
    if option in words:
        place = words.index(option)
        return words[:place] + words[place + 2:]
    return words


class Commands(unittest.TestCase):
    def done(self, words, **more):
        result = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, cwd=ROOT,
                                stdin=subprocess.DEVNULL, **more)
        self.assertEqual(result.returncode, 0, f"{shlex.join(map(str, words))}\n{result.stdout[-1500:]}\n{result.stderr[-1500:]}")
        return result.stdout

    def presets(self, kind, name):
        known = [one["name"] for one in json.loads((ROOT / "CMakePresets.json").read_text())[kind] if not one.get("hidden")]
        self.assertIn(name, known)

    def targets(self, names):
        if (BUILD / "build.ninja").is_file():
            self.done(["ninja", "-C", BUILD, "-n", *names])

    def make(self, words):
        self.done(["make", "-n", *words[1:]])

    def cmake(self, words):
        if "--preset" in words:
            self.presets("buildPresets" if "--build" in words else "configurePresets", words[words.index("--preset") + 1])
            if "--target" in words:
                self.targets(words[words.index("--target") + 1:])
            return
        cache = (BUILD / "CMakeCache.txt").read_text()
        for word in words[1:]:
            if word.startswith("-D"):
                self.assertRegex(cache, rf"(?m)^{word[2:].split('=')[0]}:")

    def ninja(self, words):
        self.targets(without(words, "-C")[1:])

    def ctest(self, words):
        if "--preset" in words:
            self.presets("testPresets", words[words.index("--preset") + 1])
        said = self.done(["ctest", "--test-dir", BUILD, "-N", *without(without(words, "--preset"), "--test-dir")[1:]])
        self.assertRegex(said, r"Total Tests: [1-9]")

    def python3(self, words):
        self.assertEqual(words[1:], ["api/generate.py", "repo"])
        with tempfile.TemporaryDirectory() as directory:
            self.done([sys.executable, "-B", *words[1:], directory])

    def script(self, words):
        path = ROOT / words[0]
        self.assertTrue(os.access(path, os.X_OK), f"{words[0]} is not there, or cannot be run")
        self.done(["bash", "-n", path])

    def bench(self, words, environment):
        """Runs a small benchmark with this build, without peers, which it would install."""
        name = Path(words[0]).name
        with tempfile.TemporaryDirectory() as directory:
            for option, value in (("--build", BUILD), ("--against", BUILD), ("--json", f"{directory}/run.json")):
                if option in words:
                    words[words.index(option) + 1] = str(value)
            self.assertIn("--vs LIST", self.done([sys.executable, "-B", ROOT / "bench/compare.py", "--help"]))
            words = without(without(words, "--vs"), "--runs") + QUICK.get(name, ["--help"])
            self.done([sys.executable, "-B", *words], env=environment | {"LD_LIBRARY_PATH": FAKE, "FAKE_CUDA_DEVICES": "2"})

    def built(self, words, environment):
        """Runs a program from the build directory, perhaps preceded by variables."""
        while words and re.match(r"\w+=", words[0]):
            name, value = words.pop(0).split("=", 1)
            environment[name] = value.replace("build/pip", str(BUILD))
        last = next(Path(word).name for word in reversed(words) if word.startswith("build/pip/"))
        self.done([word.replace("build/pip", str(BUILD)) for word in words] + QUICK.get(last, []), env=environment)

    def run_line(self, line):
        if line.startswith(ELSEWHERE):
            return
        words, environment = shlex.split(line), dict(os.environ)
        known = {"make": self.make, "cmake": self.cmake, "ninja": self.ninja, "ctest": self.ctest, "python3": self.python3,
                 ".ci/run": self.script, "scripts/sanitize.sh": self.script, "tests/gpu/run.sh": self.script}
        if words[0] in known:
            known[words[0]](words)
        elif words[0].startswith("bench/"):
            self.bench(words, environment)
        elif words[0].startswith(("build/pip/", "LD_LIBRARY_PATH=build/pip/")):
            self.built(words, environment)
        else:
            self.fail(f"a reader is told to type what this test does not know: {line}")

    def test_every_command(self):
        lines = commands()
        self.assertGreater(len(lines), 25)
        for line in lines:
            with self.subTest(line=line):
                self.run_line(line)

    def test_labels(self):
        """The page lists all existing labels and no others, except labels of parts that this build may lack."""
        said = re.search(r"[Oo]ne area \(labels: ([^)]*)\)", PAGE.read_text(encoding="utf-8"))[1]
        named = set(re.findall(r"`([\w]+)`", said))
        there = set(self.done(["ctest", "--test-dir", BUILD, "--print-labels"]).split("All Labels:")[1].split())
        self.assertEqual(there - named, set(), "CONTRIBUTING.md does not name these labels")
        self.assertEqual(named - there - {"mpi4py", "compat", "mpich", "course", "fortran", "offload"}, set(), "no test has these labels")


if __name__ == "__main__":
    unittest.main()
