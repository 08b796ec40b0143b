"""Driver calls of a step of halo3d with small faces: a question too many costs every short message. On the fake driver,
which counts them (FAKE_CUDA_COUNTS, tests/fake_cuda)."""

import os
import subprocess
import tempfile
import unittest
from collections import Counter
from pathlib import Path

MPIEXEC, HALO3D = os.environ["HR_MPIEXEC"], os.environ["HR_HALO3D"]
RANKS, MESSAGES = 2, 6  # a rank sends six faces and receives six


def calls(work: Path, steps: int) -> Counter:
    """Returns the driver calls of all ranks in a run of so many steps."""
    subprocess.run([MPIEXEC, "--timeout", "60", "-n", str(RANKS), HALO3D, "--device", "cuda", "--local", "16", "--pattern", "overlap-fused",
                    "--no-identity-check", "--steps", str(steps)], env={**os.environ, "FAKE_CUDA_COUNTS": str(work / str(steps))},
                   check=True, timeout=90, stdout=subprocess.DEVNULL)
    files = list(work.glob(f"{steps}.*"))
    assert len(files) == RANKS, files
    total = Counter()
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            name, number = line.split()
            total[name] += int(number)
    return total


class DriverCalls(unittest.TestCase):
    def test_a_step_of_halo3d(self):
        short, long = 10, 60
        with tempfile.TemporaryDirectory(prefix="driver-calls-") as work:
            few, many = calls(Path(work), short), calls(Path(work), long)
        step = {name: (many[name] - few[name]) / RANKS / (long - short) for name in many}
        # The program's own: three events, a wait of each of its two streams, one for an event and one for a stream.
        limits = {
            "cuPointerGetAttributes": 2 * MESSAGES,  # one question for each buffer
            "cuMemcpyAsync": MESSAGES,
            "cuEventRecord": MESSAGES + 3,
            "cuStreamWaitEvent": 2,
            "cuEventSynchronize": 1,
            "cuStreamSynchronize": 1,
            "cuMemHostAlloc": 0, "cuMemAlloc": 0, "cuEventCreate": 0, "cuStreamCreateWithPriority": 0, "cuIpcOpenMemHandle": 0,
        }
        for name, most in limits.items():
            with self.subTest(call=name):
                self.assertLessEqual(step.get(name, 0), most + 0.2)  # the first steps make what the others use
        self.assertGreater(step["cuLaunchKernel"], 4)


if __name__ == "__main__":
    unittest.main()
