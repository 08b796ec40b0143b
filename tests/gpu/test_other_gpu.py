#!/usr/bin/env python3
"""A GPU for which the library has no kernels: messages of derived types arrive right by copy engines, and each rank says so once.

The fake driver finds no kernels where it lies alone in its directory. HR_MPIEXEC, HR_TRANSFERS, HR_DRIVER: programs, and the library
of the fake driver; HR_KERNELS: the directory of its kernels, if that is another one.
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path


class OtherGpu(unittest.TestCase):
    def run_with(self, driver: Path, **environment: str) -> str:
        result = subprocess.run([os.environ["HR_MPIEXEC"], "--timeout", "100", "-n", "2", os.environ["HR_TRANSFERS"]], capture_output=True, text=True,
                                check=False, env={**os.environ, "LD_LIBRARY_PATH": str(driver), "HEADRACE_VERBOSE": "1", **environment})
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr

    def test_one_note(self):
        driver = Path(os.environ["HR_DRIVER"])
        kernels = os.environ.get("HR_KERNELS", str(driver.parent))
        self.assertNotIn("kernels", self.run_with(driver.parent, FAKE_CUDA_KERNELS=kernels))
        with tempfile.TemporaryDirectory() as folder:
            alone = Path(folder)
            (alone / driver.name).symlink_to(driver)
            # The reason differs if the library was built without a compiler for the GPU.
            notes = [line for line in self.run_with(alone).splitlines() if "moves by copy engine" in line]
        self.assertEqual(len(notes), 2, notes)


if __name__ == "__main__":
    unittest.main()
