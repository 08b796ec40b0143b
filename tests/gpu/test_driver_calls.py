"""Driver calls in a step of halo3d with small faces: an additional query would slow down every short message. On the
fake driver, which counts them (FAKE_CUDA_COUNTS, tests/fake_cuda)."""

import os
import tempfile
import unittest
from collections import Counter
from pathlib import Path

import driver_counts

HALO3D = os.environ["HR_HALO3D"]
RANKS, MESSAGES = 2, 6  # a rank sends six faces and receives six
MADE_ONCE = ("cuMemHostAlloc", "cuMemAlloc", "cuEventCreate", "cuStreamCreateWithPriority", "cuIpcOpenMemHandle")


WAITS = ("cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize", "cuStreamQuery", "cuEventQuery", "cuMemcpy", "cuMemcpyDtoH", "cuMemcpyHtoD")


def calls(work: Path, pattern: str, steps: int, threads: int = driver_counts.ALL_THREADS) -> Counter:
    """Returns the driver calls of all ranks in a run of this number of steps."""
    return driver_counts.calls(work / f"{pattern}-{steps}", RANKS, threads, HALO3D, "--device", "cuda", "--local", "16",
                               "--pattern", pattern, "--no-identity-check", "--steps", str(steps))


class DriverCalls(unittest.TestCase):
    def assert_a_step(self, pattern, limits):
        short, long = 10, 60
        with tempfile.TemporaryDirectory(prefix="driver-calls-") as work:
            few, many = calls(Path(work), pattern, short), calls(Path(work), pattern, long)
        step = {name: (many[name] - few[name]) / RANKS / (long - short) for name in many}
        # The program itself makes: five kernels, three events, a wait by each of its two streams, one for an event, one
        # for a stream.
        for name, most in {**dict.fromkeys(MADE_ONCE, 0), "cuStreamWaitEvent": 2, "cuEventSynchronize": 1, "cuStreamSynchronize": 1,
                           **limits}.items():
            with self.subTest(pattern=pattern, call=name):
                self.assertLessEqual(step.get(name, 0), most + 0.3)  # allows an occasional launch of the resident copy kernel
        self.assertGreater(step["cuLaunchKernel"], 4.9)

    def test_messages(self):
        self.assert_a_step("overlap-fused", {"cuPointerGetAttributes": 2 * MESSAGES, "cuMemcpyAsync": MESSAGES,
                                             "cuEventRecord": MESSAGES + 3})

    def test_one_collective_call(self):
        self.assert_a_step("overlap-neighbor", {"cuPointerGetAttributes": 2, "cuMemcpyAsync": 0, "cuLaunchKernel": 6,
                                                "cuEventRecord": 4})

    def test_a_graph_needs_no_wait_of_the_host(self):
        """The program's thread only launches: a graph for every two steps, once the graph has been captured."""
        few, many = 10, 110
        with tempfile.TemporaryDirectory(prefix="driver-calls-") as work:
            before, after = (calls(Path(work), "graph", steps, driver_counts.FIRST_THREAD) for steps in (few, many))
        self.assertEqual(after["cuGraphLaunch"] - before["cuGraphLaunch"], RANKS * (many - few) / 2)
        for name in WAITS:
            with self.subTest(call=name):
                self.assertEqual(after[name], before[name])
        for name in ("cuLaunchKernel", "cuStreamBatchMemOp", "cuStreamWaitValue32"):
            with self.subTest(call=name):
                self.assertEqual(after[name], before[name])


if __name__ == "__main__":
    unittest.main()
