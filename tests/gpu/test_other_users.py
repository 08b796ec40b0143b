"""GPUs that are not this job's alone, or that are apart: pairs without access to each other, instances of MIG, devices in
exclusive mode, and two jobs on the same devices. Data is right, or a sentence names the GPU and says what to do. On the
fake driver (tests/fake_cuda)."""

import os
import re
import signal
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "fault"))
from launching import MPIEXEC, FilesTest, run

EXCHANGE = os.environ["HR_DEVICE_ERRORS"]
COLLECTIVES = os.environ["HR_RANDOM_COLLECTIVES"]
TURNS = "is shared with another process, and MPS is not running"
LIMIT = 60


class OtherUsers(FilesTest):
    def job(self, ranks: int, *words: str, **environment: object):
        exported = [word for name, value in environment.items() for word in ("-x", f"{name}={value}")]
        return run("--timeout", str(LIMIT), "-n", str(ranks), *exported, *words, limit=LIMIT + 30)

    def assert_right(self, result):
        self.assert_ended(result, 0)
        self.assertIn("right\n", result.stdout)


class PairsApart(OtherUsers):
    def test_messages(self):
        result = self.job(3, EXCHANGE, "exchange", FAKE_CUDA_DEVICES=3, FAKE_CUDA_NO_PEER="0-2", HEADRACE_VERBOSE=1)
        self.assert_right(result)
        pairs = set(re.findall(r"GPU memory of rank (\d) cannot be mapped on device (\d)", result.stderr))
        self.assertTrue(pairs, result.stderr)
        self.assertLessEqual(pairs, {("0", "2"), ("2", "0")}, "pairs with access have been given up, too")

    def test_collectives(self):
        result = self.job(4, COLLECTIVES, "--seed", "41", "--calls", "150", "--all-devices", "100", FAKE_CUDA_DEVICES=4,
                          FAKE_CUDA_NO_PEER="0-3,1-2")
        self.assert_ended(result, 0)


class Instances(OtherUsers):
    """MIG: each rank sees one instance. The instances of one GPU have its bus number, but do not take turns on it."""

    def on_instances(self, ranks: int, visible: str, *words: str):
        return self.job(ranks, "sh", "-c", f"CUDA_VISIBLE_DEVICES={visible} exec " + " ".join(words), FAKE_CUDA_DEVICES=7,
                        FAKE_CUDA_MIG=7, FAKE_CUDA_MPS=0, HEADRACE_VERBOSE=1)

    def test_one_for_each_rank(self):
        result = self.on_instances(3, "$PMI_RANK", EXCHANGE, "exchange")
        self.assert_right(result)
        self.assertNotIn(TURNS, result.stderr)
        self.assertIn("cannot be mapped on device 0", result.stderr)

    def test_two_ranks_on_one(self):
        result = self.on_instances(3, "$((PMI_RANK/2))", EXCHANGE, "exchange")
        self.assert_right(result)
        self.assertIn(TURNS, result.stderr)

    def test_collectives(self):
        self.assert_ended(self.on_instances(3, "$((PMI_RANK/2))", COLLECTIVES, "--seed", "42", "--calls", "100", "--all-devices", "100"), 0)


class Exclusive(OtherUsers):
    def test_one_rank_for_each(self):
        self.assert_right(self.job(2, EXCHANGE, "exchange", FAKE_CUDA_DEVICES=2, FAKE_CUDA_COMPUTE_MODE="exclusive"))

    def test_one_rank_too_many(self):
        result = self.job(3, EXCHANGE, "exchange", FAKE_CUDA_DEVICES=2, FAKE_CUDA_COMPUTE_MODE="exclusive")
        self.assertNotIn(result.returncode, (0, 124), result.stderr)
        self.assertRegex(result.stderr, "gpu: device 0 admits no further process: .*nvidia-smi -c DEFAULT\n")

    def test_prohibited(self):
        result = self.job(1, EXCHANGE, "exchange", FAKE_CUDA_COMPUTE_MODE="prohibited")
        self.assertNotIn(result.returncode, (0, 124), result.stderr)
        self.assertRegex(result.stderr, "gpu: device 0 admits no further process: .*nvidia-smi -c DEFAULT\n")


class TwoJobs(OtherUsers):
    """A job beside another one, which uses the same devices all the time."""

    def beside_another(self, devices: int, **environment: object):
        both = {"FAKE_CUDA_SHARED": f"two-jobs-{os.getpid()}", "FAKE_CUDA_DEVICES": devices, "FAKE_CUDA_MPS": 0} | environment
        other = subprocess.Popen([MPIEXEC, "--timeout", str(LIMIT), "-n", "2", EXCHANGE, "endless"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env=os.environ | {name: str(value) for name, value in both.items()})
        try:
            for _ in range(2):
                self.assertIn("under way", other.stdout.readline())
            result = self.job(2, EXCHANGE, "exchange", **both)
            self.assertIsNone(other.poll(), "the other job has ended")
        finally:
            other.send_signal(signal.SIGTERM)
            other.communicate(timeout=LIMIT)
        return result

    def test_a_device_for_each_rank(self):
        result = self.beside_another(2)
        self.assert_right(result)

    def test_one_device(self):
        self.assert_right(self.beside_another(1))

    def test_memory_is_taken(self):
        # The other job's four buffers of 32 MiB and little more leave too little for this one's, or for its chunks.
        for megabytes in (132, 160):
            with self.subTest(megabytes=megabytes):
                result = self.beside_another(1, FAKE_CUDA_MEMORY=megabytes << 20)
                self.assertNotEqual(result.returncode, 124, result.stderr)
                if megabytes == 132 or result.returncode != 0:
                    self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", result.stderr)

    def test_exclusive(self):
        result = self.beside_another(2, FAKE_CUDA_COMPUTE_MODE="exclusive")
        self.assertNotIn(result.returncode, (0, 124), result.stderr)
        self.assertRegex(result.stderr, "gpu: device [01] admits no further process: .*nvidia-smi -c DEFAULT\n")


if __name__ == "__main__":
    unittest.main()
