#!/usr/bin/env python3
"""Exported memory may stay in use after the program has freed it (ROCm 7): so an allocation is exported once, when a message first needs it.

The fake HIP runtime counts its calls by CUDA's names. HR_MPIEXEC, HR_MPI_HIP: programs.
"""

import os
import tempfile
import unittest
from pathlib import Path

import driver_counts

RANKS, BUFFERS = 2, 7


class Exports(unittest.TestCase):
    def test_once_and_late(self):
        with tempfile.TemporaryDirectory(prefix="hip-exports-") as work:
            calls = driver_counts.calls(Path(work) / "counts", RANKS, driver_counts.ALL_THREADS, os.environ["HR_MPI_HIP"], "exports")
        self.assertEqual(calls["cuIpcGetMemHandle"], RANKS * BUFFERS)


if __name__ == "__main__":
    unittest.main()
