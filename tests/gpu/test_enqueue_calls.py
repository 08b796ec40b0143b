"""Driver calls of the thread that enqueues: one query too many costs every enqueued operation. On the fake driver, which
counts them (FAKE_CUDA_COUNTS, tests/fake_cuda)."""

import os
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from unittest import mock

import driver_counts

LATENCY = os.environ["HR_STREAMS_LATENCY"]
RANKS = 2


def calls(work: Path, what: str, times: int) -> Counter:
    """Returns the driver calls of the ranks' first threads, which make each MPI call `times` times."""
    return driver_counts.calls(work / f"{what}-{times}", RANKS, driver_counts.FIRST_THREAD, LATENCY, what, str(times))


def calls_each_time(what: str) -> dict[str, float]:
    few, many = 5, 55
    with tempfile.TemporaryDirectory(prefix="enqueue-calls-") as work:
        before, after = calls(Path(work), what, few), calls(Path(work), what, many)
    return {name: (after[name] - before[name]) / RANKS / (many - few) for name in after}


class EnqueueCalls(unittest.TestCase):
    def assert_each_time(self, what: str, wanted: dict[str, int], most_current: int, waits: str = "kernel"):
        with mock.patch.dict(os.environ, HEADRACE_STREAM_WAITS=waits):
            each = calls_each_time(what)
        # Counts batches and single operations, but not the operations in a batch.
        each["appended"] = sum(each.pop(name, 0) for name in ("cuStreamBatchMemOp", "cuStreamWriteValue32", "cuStreamWaitValue32"))
        each.pop("batched", None)
        self.assertLessEqual(each.pop("cuCtxGetCurrent"), most_current + 0.1)  # a cheap call, which reads a thread-local variable
        for name, number in each.items():
            with self.subTest(what=what, call=name):
                # At intervals, the library queries whether exported memory was freed, so a slow run has more of these
                # calls.
                self.assertAlmostEqual(number, wanted.get(name, 0), delta=0.5 if name == "cuPointerGetAttribute" else 0.1)

    def test_one_question_and_one_batch(self):  # made by each of four calls
        self.assert_each_time("--enqueue", {"cuStreamIsCapturing": 4, "appended": 4}, 8)

    def test_a_kernel_a_call(self):
        for what in ("--matched", "--reduced"):
            self.assert_each_time(what, {"cuStreamIsCapturing": 2, "cuLaunchKernel": 2}, 4)

    def test_one_kernel_in_all(self):
        self.assert_each_time("--at-once", {"cuStreamIsCapturing": 1, "cuLaunchKernel": 1}, 2)

    def test_one_wait_and_three_kernels(self):  # the kernels put, check, and take or combine
        for what in ("--matched", "--reduced"):
            self.assert_each_time(what, {"cuStreamIsCapturing": 2, "appended": 1, "cuLaunchKernel": 3}, 6, "stream")


if __name__ == "__main__":
    unittest.main()
