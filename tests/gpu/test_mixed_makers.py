#!/usr/bin/env python3
"""Ranks with devices of different makers in one job: messages arrive right, and a rank that meets another maker's memory says so once.

HR_MPIEXEC, HR_TWO_MAKERS: programs. The ranks with even numbers use CUDA, the others HIP.
"""

import os
import re
import subprocess
import unittest

CHOOSE = 'if [ $((PMI_RANK % 2)) = 0 ]; then export HEADRACE_HIP=off; else export HEADRACE_CUDA=off; fi; exec "$0" "$@"'
NOTE = re.compile(r"\[headrace (\d+)/\d+\] rank (\d+) uses (\w+) devices, and this rank (\w+) devices: messages between their GPU memory are staged")
MAKERS = ("CUDA", "HIP")


class MixedMakers(unittest.TestCase):
    def notes(self, ranks: int, **environment: str) -> list[tuple[str, ...]]:
        command = [os.environ["HR_MPIEXEC"], "--timeout", "100", "-n", str(ranks), "sh", "-c", CHOOSE, os.environ["HR_TWO_MAKERS"], "mixed"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "HEADRACE_VERBOSE": "1", **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("cannot be mapped", done.stderr)  # no driver has been given another maker's handle
        return NOTE.findall(done.stderr)

    def check(self, ranks: int, **environment: str) -> None:
        found = self.notes(ranks, **environment)
        self.assertTrue(found)
        writers = [int(note[0]) for note in found]
        self.assertEqual(len(writers), len(set(writers)), found)  # once in each rank
        for writer, other, theirs, ours in found:
            self.assertEqual((theirs, ours), (MAKERS[int(other) % 2], MAKERS[int(writer) % 2]))

    def test_two_ranks(self):
        self.check(2)

    def test_two_of_each_maker(self):
        self.check(4)

    def test_without_kernels(self):
        self.check(2, HEADRACE_DEVICE_KERNELS="off")

    def test_work_that_waits(self):
        self.check(2, FAKE_CUDA_LAZY="1")


if __name__ == "__main__":
    unittest.main()
