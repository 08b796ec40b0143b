"""A program waits inside the driver with the lock that the library's thread needs: because it has launched a graph so
often that there is no space for the next launch (streams/ahead.cpp), or in a copy to pageable memory
(streams/pageable.cpp). On the fake driver with FAKE_CUDA_QUEUE (tests/fake_cuda)."""

import os
import subprocess
import unittest


def launch(what: str, limit: int, **environment: str) -> int:
    return subprocess.run([os.environ["HR_MPIEXEC"], "--timeout", str(limit), "-n", "2", os.environ["HR_AHEAD"], what],
                          capture_output=True, timeout=100, env=os.environ | {"FAKE_CUDA_QUEUE": "12"} | environment).returncode


class FullQueue(unittest.TestCase):
    def test_matched_operations_need_no_thread(self):
        for waits in ("kernel", "stream"):
            with self.subTest(waits=waits):
                self.assertEqual(launch("matched", 60, HEADRACE_STREAM_WAITS=waits), 0)

    def test_other_operations_need_room(self):
        """The limit that docs/streams.md states. If this passes one day, change the page."""
        self.assertEqual(launch("mixed", 60, FAKE_CUDA_QUEUE="100000"), 0)
        self.assertNotEqual(launch("mixed", 4), 0)

    def test_a_copy_to_pageable_memory_comes_after_the_stream(self):
        """The limit that docs/streams.md states, as above."""
        for how, limit, ends in (("wait", 60, True), ("hang", 2, False)):
            with self.subTest(how=how):
                result = subprocess.run([os.environ["HR_MPIEXEC"], "--timeout", str(limit), "-n", "2", os.environ["HR_PAGEABLE"], how],
                                        capture_output=True, timeout=100, env=os.environ | {"FAKE_CUDA_QUEUE": "1000"})
                self.assertEqual(result.returncode, 0 if ends else 124, result.stderr)


if __name__ == "__main__":
    unittest.main()
