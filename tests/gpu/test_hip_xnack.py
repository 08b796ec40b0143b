#!/usr/bin/env python3
"""Managed memory on AMD GPUs: without XNACK it stays on the host, so the CPU copies it, and each rank says so once. With
XNACK it migrates to the device that wrote it, which then copies it. Each element is checked by the program.

The fake HIP runtime counts its calls. HR_MPIEXEC, HR_MPI_HIP: programs.
"""

import os
import subprocess
import tempfile
import unittest
from collections import Counter
from pathlib import Path

import driver_counts

RANKS = 2
# Calls by which the library moves data; the program itself calls hipMemcpy().
COPIES = ("hipMemcpyAsync", "hipMemcpy2DAsync", "hipMemcpyPeerAsync", "hipModuleLaunchKernel")
NOTE = "managed memory does not migrate to HIP device"


class Managed(unittest.TestCase):
    def run_with(self, **environment: str) -> tuple[Counter, list[str]]:
        """Returns the calls of all ranks, and the lines of their notes."""
        with tempfile.TemporaryDirectory(prefix="hip-xnack-") as work:
            prefix = Path(work) / "counts"
            done = subprocess.run([os.environ["HR_MPIEXEC"], "--timeout", "60", "-n", str(RANKS), os.environ["HR_MPI_HIP"], "managed"],
                                  env={**os.environ, "HEADRACE_VERBOSE": "1", "FAKE_CUDA_COUNTS": str(prefix), **environment},
                                  capture_output=True, text=True, check=False, timeout=90)
            self.assertEqual(done.returncode, 0, done.stderr)
            return driver_counts.read(prefix, RANKS, driver_counts.ALL_THREADS), [line for line in done.stderr.splitlines() if NOTE in line]

    def test_stays(self):
        calls, notes = self.run_with(FAKE_HIP_XNACK="0")
        self.assertEqual(len(notes), RANKS, notes)
        self.assertIn("as XNACK is off: it stays on the host, where the CPU copies it; set HSA_XNACK=1", notes[0])
        self.assertGreater(calls["hipMemcpy"], 0)
        self.assertEqual({name: calls[name] for name in COPIES if calls[name] != 0}, {})

    def test_migrates(self):
        calls, notes = self.run_with()
        self.assertEqual(notes, [])
        self.assertGreater(sum(calls[name] for name in COPIES), 0)


if __name__ == "__main__":
    unittest.main()
