"""Driver calls of the thread that enqueues: one query too many costs every enqueued operation. On the fake driver, which
counts them (FAKE_CUDA_COUNTS, tests/fake_cuda)."""

import os
import tempfile
import unittest
from collections import Counter
from pathlib import Path

import driver_counts

LATENCY = os.environ["HR_STREAMS_LATENCY"]
RANKS, CALLS = 2, 4  # of mpi_streams_latency --enqueue, each time


def calls(work: Path, times: int) -> Counter:
    """Returns the driver calls of the ranks' first threads, which make this many of each MPI call."""
    return driver_counts.calls(work / str(times), RANKS, driver_counts.FIRST_THREAD, LATENCY, "--enqueue", str(times))


class EnqueueCalls(unittest.TestCase):
    def test_one_question_and_one_batch(self):
        few, many = 5, 55
        with tempfile.TemporaryDirectory(prefix="enqueue-calls-") as work:
            before, after = calls(Path(work), few), calls(Path(work), many)
        each = {name: (after[name] - before[name]) / RANKS / CALLS / (many - few) for name in after}
        # The stream has a write or a wait in each call: alone, or both in a batch.
        appended = sum(each.pop(name, 0) for name in ("cuStreamBatchMemOp", "cuStreamWriteValue32", "cuStreamWaitValue32"))
        each.pop("batched", None)
        self.assertAlmostEqual(appended, 1, delta=0.02)
        self.assertAlmostEqual(each.pop("cuStreamIsCapturing"), 1, delta=0.02)
        self.assertLessEqual(each.pop("cuCtxGetCurrent"), 2.02)  # cheap: a variable of the thread
        for name, number in each.items():
            with self.subTest(call=name):
                self.assertLessEqual(number, 0.02)


if __name__ == "__main__":
    unittest.main()
