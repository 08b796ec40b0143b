"""Channels beside a driver are offered only to programs that ask for them. Threads that exchange host memory on channels,
and have no context, call the driver neither for each message nor to make a context. On a fake driver, which counts its
calls (FAKE_CUDA_COUNTS, tests/fake_cuda). HR_MAKER is `hip` if it is AMD's, where every thread has some current device."""

import os
import subprocess
import tempfile
import unittest
from collections import Counter
from pathlib import Path

import driver_counts

ON_HIP = os.environ.get("HR_MAKER") == "hip"
QUERY = "hipPointerGetAttributes" if ON_HIP else "cuPointerGetAttributes"
RANKS, THREADS = 2, 3
FEW, MANY = 100, 2100
# A thread asks about a buffer of its heap until it has learned where the heap is.
FOR_EACH_THREAD = 8


def calls(work: Path, messages: int) -> Counter:
    return driver_counts.calls(work / f"calls-{messages}", RANKS, driver_counts.ALL_THREADS, os.environ["HR_CHANNEL_MEMORY"],
                               "host", str(THREADS), str(messages))


def channels_said(**settings: str) -> bool:
    """Returns whether a job of threads says that it offers channels. A setting that is empty is not set."""
    environment = {**os.environ, "HEADRACE_VERBOSE": "2", **settings}
    environment = {name: value for name, value in environment.items() if value}
    command = [os.environ["HR_MPIEXEC"], "--timeout", "60", "-n", str(RANKS), os.environ["HR_CHANNEL_MEMORY"], "2", "2"]
    done = subprocess.run(command, env=environment, check=True, timeout=90, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return "channels: " in done.stdout


class Offers(unittest.TestCase):
    def test_asked_for(self):
        self.assertTrue(channels_said())

    def test_not_asked_for(self):
        self.assertFalse(channels_said(HEADRACE_CHANNELS=""))


class ChannelCalls(unittest.TestCase):
    def test_messages(self):
        with tempfile.TemporaryDirectory(prefix="channel-calls-") as work:
            few, many = calls(Path(work), FEW), calls(Path(work), MANY)
        self.assertGreater(many[QUERY], 0)
        self.assertLessEqual(many[QUERY], RANKS * THREADS * FOR_EACH_THREAD)
        if not ON_HIP:
            self.assertEqual(many["cuDevicePrimaryCtxRetain"], RANKS)  # by the program's main thread
            self.assertNotIn("cuCtxCreate", many)
        for name in few | many:
            with self.subTest(call=name):
                self.assertLessEqual(many[name] - few[name], RANKS * THREADS)


if __name__ == "__main__":
    unittest.main()
