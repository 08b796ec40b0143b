#!/usr/bin/env python3
"""A GPU for which the library has no kernels: messages of derived types arrive right by copy engines, and each rank says so once,
with the reason.

HR_MPIEXEC, HR_TRANSFERS, HR_DRIVER: programs, and the library of the fake driver; HR_KERNELS: the directory of its kernels, if
that is not the driver's; HR_COMPILER: the compiler of the library's kernels, empty if it was built without them; HR_DEVICE:
the driver's name in the note.
"""

import os
import subprocess
import unittest
from pathlib import Path


class OtherGpu(unittest.TestCase):
    def run_with(self, **environment: str) -> str:
        driver = Path(os.environ["HR_DRIVER"])
        result = subprocess.run([os.environ["HR_MPIEXEC"], "--timeout", "100", "-n", "2", os.environ["HR_TRANSFERS"]], capture_output=True, text=True,
                                check=False, env={**os.environ, "LD_LIBRARY_PATH": str(driver.parent), "HEADRACE_VERBOSE": "1",
                                                  "FAKE_CUDA_KERNELS": os.environ.get("HR_KERNELS", str(driver.parent)), **environment})
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr

    def test_one_note(self):
        self.assertNotIn("kernels", self.run_with())
        notes = [line for line in self.run_with(FAKE_CUDA_NO_BINARY="1").splitlines() if "moves by copy engine" in line]
        self.assertEqual(len(notes), 2, notes)
        why = "this library has no kernels for the device" if os.environ["HR_COMPILER"] else "this library was built without its kernels"
        for note in notes:
            self.assertRegex(note, rf"(?i)device data of derived types moves by copy engine: {why} "
                                   rf"\({os.environ['HR_DEVICE']} device [01]: \w+NO_?BINARY\w+\)$")


if __name__ == "__main__":
    unittest.main()
