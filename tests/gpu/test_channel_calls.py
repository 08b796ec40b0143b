"""Driver calls of threads that exchange host memory on channels, and have no context: none for each message, and none that
makes a context. On the fake driver, which counts them (FAKE_CUDA_COUNTS, tests/fake_cuda)."""

import os
import tempfile
import unittest
from collections import Counter
from pathlib import Path

import driver_counts

RANKS, THREADS = 2, 3
FEW, MANY = 100, 2100
# A thread asks about a buffer of its heap until it has learned where the heap is.
FOR_EACH_THREAD = 8


def calls(work: Path, messages: int) -> Counter:
    return driver_counts.calls(work / f"calls-{messages}", RANKS, driver_counts.ALL_THREADS, os.environ["HR_CHANNEL_MEMORY"],
                               "host", str(THREADS), str(messages))


class ChannelCalls(unittest.TestCase):
    def test_messages(self):
        with tempfile.TemporaryDirectory(prefix="channel-calls-") as work:
            few, many = calls(Path(work), FEW), calls(Path(work), MANY)
        self.assertLessEqual(many["cuPointerGetAttributes"], RANKS * THREADS * FOR_EACH_THREAD)
        self.assertEqual(many["cuDevicePrimaryCtxRetain"], RANKS)  # by the program's main thread
        self.assertNotIn("cuCtxCreate", many)
        for name in few | many:
            with self.subTest(call=name):
                self.assertLessEqual(many[name] - few[name], RANKS * THREADS)


if __name__ == "__main__":
    unittest.main()
