"""Kernels that ranks launch for long reductions and broadcasts on devices that they share: if they take turns there, one
of them works for all, so that its device does not switch. On the fake driver, which counts calls (FAKE_CUDA_COUNTS)."""

import os
import tempfile
import unittest
from pathlib import Path

import driver_counts

PROGRAM = os.environ["HR_ONE_WORKER"]


LONG = ("-x", "HEADRACE_DEVICE_RESIDENT_COPY_BYTES=0", PROGRAM, "--holes", "0")
WORK = ("cuLaunchKernel", "cuMemcpyAsync", "cuMemcpy2DAsync")


def work_of_a_round(devices: int, mps: int, *options: str, many: int = 5) -> list[dict[str, float]]:
    """Returns how often each of four ranks starts work on its device in a round, by call; the rank with the fewest kernels first."""
    few = 1
    counts = {}
    with tempfile.TemporaryDirectory(prefix="one-worker-") as work:
        for rounds in (few, many):
            counts[rounds] = driver_counts.each(
                Path(work) / f"rounds-{rounds}", 4, driver_counts.ALL_THREADS, "-x", f"FAKE_CUDA_DEVICES={devices}", "-x",
                f"FAKE_CUDA_MPS={mps}", *options, "--rounds", str(rounds))
            counts[rounds].sort(key=lambda each: each["cuLaunchKernel"])
    return [{call: (more[call] - less[call]) / (many - few) for call in WORK} for less, more in zip(counts[few], counts[many], strict=True)]


class OneWorker(unittest.TestCase):
    # A round: allreduce (twice), reduce and bcast are one kernel each; reduce_scatter has three results that are not
    # empty, reduce_scatter_block and scan four, exscan three. Copy engines move the blocks of the others.
    ALL_RESULTS = 4 + 3 + 4 + 4 + 3

    def assert_idle(self, ranks):
        for rank in ranks:  # which may start a copy or two before all know that they take turns
            self.assertTrue(all(times < 1 for times in rank.values()), ranks)

    def test_one_device(self):
        *idle, worker = work_of_a_round(1, 0, *LONG)
        self.assert_idle(idle)
        self.assertAlmostEqual(worker["cuLaunchKernel"], self.ALL_RESULTS, delta=0.5)

    def test_two_devices(self):
        # Each worker combines its half of a vector, and the results of its two ranks: 0 and 2, or 1 and 3. The root's
        # worker takes no part in a broadcast.
        kernels = [each["cuLaunchKernel"] for each in work_of_a_round(2, 0, *LONG)]
        self.assertLess(max(kernels[:2]), 1)
        self.assertAlmostEqual(sum(kernels), 2 * 3 + 1 + 3 + 4 + 4 + 3, delta=0.5)

    def test_short_collectives_start_no_kernel(self):
        """A kernel that copies and then waits for more would keep the device from the other ranks: each call would take a switch."""
        for before in ("nothing", "host"):
            with self.subTest(before=before):
                for each in work_of_a_round(1, 0, PROGRAM, "--short", before, many=9):
                    self.assertLess(each["cuLaunchKernel"], 1)

    def test_kernels_side_by_side(self):
        self.assertGreater(work_of_a_round(1, 1, *LONG)[0]["cuLaunchKernel"], 5)


if __name__ == "__main__":
    unittest.main()
