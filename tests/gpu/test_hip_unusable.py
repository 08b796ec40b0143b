#!/usr/bin/env python3
"""A HIP runtime that is too old or half installed: a sentence names what is missing, and host memory works.

HR_MPIEXEC, HR_MPI_HIP: programs. HR_FAKE_HIP: the folder of the fake runtimes.
"""

import os
import subprocess
import unittest
from pathlib import Path

RANKS = 2


class Unusable(unittest.TestCase):
    def errors_with(self, folder: str, **environment: str) -> list[str]:
        result = subprocess.run([os.environ["HR_MPIEXEC"], "--timeout", "50", "-n", str(RANKS), os.environ["HR_MPI_HIP"], "host"], capture_output=True,
                                text=True, check=False, env={**os.environ, "LD_LIBRARY_PATH": str(Path(os.environ["HR_FAKE_HIP"]) / folder), **environment})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "host memory alone\n")
        return [line for line in result.stderr.splitlines() if "the HIP runtime" in line]

    def test_too_old(self):
        errors = self.errors_with("5", FAKE_HIP_ROCM="5.1")
        self.assertEqual(len(errors), RANKS, errors)
        self.assertIn("the HIP runtime (libamdhip64.so.5) is of ROCm 5.1: 5.2 is needed, and it is not used", errors[0])

    def test_half_installed(self):
        errors = self.errors_with("half_installed")
        self.assertEqual(len(errors), RANKS, errors)
        self.assertRegex(errors[0], r"the HIP runtime \(libamdhip64\.so\.7\) lacks hip\w+: it is older than ROCm 5\.2 or half installed, and is not used")

    def test_switched_off(self):
        self.assertEqual(self.errors_with("half_installed", HEADRACE_HIP="off"), [])


if __name__ == "__main__":
    unittest.main()
