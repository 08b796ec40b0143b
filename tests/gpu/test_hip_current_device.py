#!/usr/bin/env python3
"""In HIP some device is current in every thread, used or not: the checker reports a use before MPI_Init only if there was one.

Before ROCm 7, the runtime reports the current device as active, so that the library cannot know, and nothing is reported.
HR_MPIEXEC, HR_MPI_HIP: programs. HR_FAKE_HIP: the folder of the fake runtimes.
"""

import os
import re
import subprocess
import unittest
from pathlib import Path

RANKS = 2
NOTE = re.compile(r"check device: MPI_Init: the program has already used HIP device 0\.")


class CurrentDevice(unittest.TestCase):
    def notes(self, mode: str, version: str) -> int:
        environment = {**os.environ, "LD_LIBRARY_PATH": str(Path(os.environ["HR_FAKE_HIP"]) / version), "FAKE_HIP_ROCM": version, "HEADRACE_CHECK": "device"}
        done = subprocess.run([os.environ["HR_MPIEXEC"], "--timeout", "50", "-n", str(RANKS), os.environ["HR_MPI_HIP"], mode], capture_output=True, text=True,
                              check=False, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return len(NOTE.findall(done.stderr))

    def test_not_used(self):
        for version in ("5", "6", "7"):
            with self.subTest(version):
                self.assertEqual(self.notes("unused", version), 0)

    def test_used(self):
        for version, notes in (("5", 0), ("6", 0), ("7", RANKS)):
            with self.subTest(version):
                self.assertEqual(self.notes("used", version), notes)


if __name__ == "__main__":
    unittest.main()
