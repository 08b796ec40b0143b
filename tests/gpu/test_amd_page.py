#!/usr/bin/env python3
"""The commands that docs/amd.md tells a user with AMD GPUs to run first, pasted into a shell on the fake HIP runtime.

HR_BUILD, HR_SOURCE: the build directory and the source tree. The environment chooses the version of ROCm. The fake GPUs
are slow, so tests/gpu/run.sh takes its short sizes (HR_FAKE=hip), and the course runs with --quick.
"""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD, SOURCE = Path(os.environ["HR_BUILD"]), Path(os.environ["HR_SOURCE"])
ROCM = os.environ["FAKE_HIP_ROCM"]
COMMANDS = 10
LIMIT = 1700


def pasted() -> str:
    return re.search(r"(?ms)^## Run these first\n.*?^```sh\n(.*?)^```$", (SOURCE / "docs/amd.md").read_text(encoding="utf-8"))[1]


class Page(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory(prefix="amd-page-")
        self.addCleanup(work.cleanup)
        self.folder = Path(work.name)  # looks like the source tree, and is written to
        (self.folder / "build").mkdir()
        (self.folder / "build/pip").symlink_to(BUILD)
        for name in ("python", "tests"):
            (self.folder / name).symlink_to(SOURCE / name)

    def shell(self, text: str) -> str:
        """Returns what a shell prints that reads the text from its standard input, as a terminal's shell does."""
        done = subprocess.run(["bash"], input=text, cwd=self.folder, capture_output=True, text=True, timeout=LIMIT, check=False,
                              env={**os.environ, "HR_FAKE": "hip", "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def assert_exit_codes(self, said: str) -> list[str]:
        lines = (self.folder / "amd-logs/exit-codes").read_text(encoding="utf-8").splitlines()
        for line in lines:
            with self.subTest(line=line):
                code = int(re.match(r"exit code (\d+): ", line)[1])
                self.assertLessEqual(code, 1 if "headrace doctor" in line else 0, said)
        return lines

    def test_numbers(self):
        """Each number, a comment, is followed by a command that cannot take the lines behind it as its input."""
        lines = pasted().splitlines()
        self.assertEqual([line for line in lines if line.startswith("#")], [f"# {number}" for number in range(1, COMMANDS + 1)])
        for line, behind in zip(lines, lines[1:]):
            if line.startswith("#"):
                self.assertTrue(behind.startswith("try "), behind)

    def test_every_command(self):
        text = pasted()
        quick = text.replace("headrace course", "headrace course --quick")
        self.assertEqual(quick.count("--quick"), 2)
        said = self.shell(quick)
        self.assertEqual(len(self.assert_exit_codes(said)), text.count("\ntry "))
        self.assertGreaterEqual(said.count("HIP memory of every kind\n"), 3)
        passed, failed, skipped = map(int, re.search(r"(?m)^(\d+) passed, (\d+) failed, (\d+) skipped", said).groups())
        self.assertEqual(failed, 0)
        self.assertGreater(passed, 60)
        self.assertGreater(skipped, 0)
        self.assertEqual("skip  mpi_chunks: ROCm 5 does not" in said, ROCM.startswith("5"))
        self.assertRegex(said, "(?m)^graph, 8 ranks: left out: halo3d: pattern 'graph': graphs of AMD GPUs cannot hold messages;")
        self.assertIn("HIP", (self.folder / "amd-logs/verbose.log").read_text(encoding="utf-8"))
        for name in ("mpi_lifetimes_2", "mpi_sessions_2", "mpi_hip_2", "halo3d_overlap-fused"):
            self.assertTrue((self.folder / f"amd-logs/{name}.log").is_file(), name)

    def test_a_failure_is_seen(self):
        """With a runtime that fails, the line of the command says so, and the next command runs."""
        begin, _, rest = pasted().partition("# 3\n")
        third = rest.splitlines()[0]
        begin = begin.partition("# 1\n")[0]
        said = self.shell(f"{begin}export FAKE_CUDA_FAIL=cuMemAlloc:1:2\n{third}\nexport FAKE_CUDA_FAIL=\n{third}\n")
        codes = re.findall(r"(?m)^exit code (\d+): ", said)
        self.assertEqual(len(codes), 2, said)
        self.assertNotEqual(codes[0], "0", said)
        self.assertEqual(codes[1], "0", said)


if __name__ == "__main__":
    unittest.main()
