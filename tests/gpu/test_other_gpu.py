#!/usr/bin/env python3
"""A GPU for which the library has no kernels: messages of derived types arrive right by copy engines, and each rank says so once.

The fake driver finds no kernels where it lies alone in its directory. HR_MPIEXEC, HR_TRANSFERS, HR_FAKE_CUDA: programs, and the
directory of the fake driver.
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path


class OtherGpu(unittest.TestCase):
    def run_with(self, driver: Path) -> str:
        result = subprocess.run([os.environ["HR_MPIEXEC"], "--timeout", "100", "-n", "2", os.environ["HR_TRANSFERS"]], capture_output=True, text=True,
                                check=False, env={**os.environ, "LD_LIBRARY_PATH": str(driver), "HEADRACE_VERBOSE": "1"})
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr

    def test_one_note(self):
        whole = Path(os.environ["HR_FAKE_CUDA"])
        self.assertNotIn("kernels", self.run_with(whole))
        with tempfile.TemporaryDirectory() as folder:
            alone = Path(folder)
            (alone / "libcuda.so.1").symlink_to(whole / "libcuda.so.1")
            notes = [line for line in self.run_with(alone).splitlines() if "the kernels do not load" in line]
        self.assertEqual(len(notes), 2, notes)


if __name__ == "__main__":
    unittest.main()
