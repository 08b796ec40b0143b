"""Bad buffers, failing driver calls and dying peers: every job ends in time, with the right data or with a message that
says what happened, and leaves nothing behind. On the fake driver, which fails on request (tests/fake_cuda), or on the
fake HIP runtime (HR_MAKER=hip), where calls fail by CUDA's names, too, and errors have HIP's."""

import os
import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "fault"))
from launching import MPIEXEC, FilesTest, run

PROGRAM = os.environ["HR_DEVICE_ERRORS"]
HIP = os.environ.get("HR_MAKER") == "hip"
ERROR = "hipError" if HIP else "CUDA_ERROR"
OUT_OF_MEMORY = "hipErrorOutOfMemory" if HIP else "CUDA_ERROR_OUT_OF_MEMORY"
LIMIT = int(os.environ.get("HR_LIMIT", "60"))


class DeviceTest(FilesTest):
    def job(self, case, *environment, ranks=2):
        words = [word for variable in environment for word in ("-x", variable)]
        return run("--timeout", str(LIMIT), "-n", str(ranks), *words, PROGRAM, case, limit=LIMIT + 30)

    def assert_right(self, result):
        self.assert_ended(result, 0)
        self.assertIn("right\n", result.stdout)

    def assert_right_or_reported(self, result, *words):
        """Requires the right result, or an error whose message contains one of the words."""
        self.assertNotEqual(result.returncode, 124, f"hangs: {result.stderr}")
        self.assertNotIn("wrong data", result.stderr)
        self.assertNotRegex(result.stderr, r"killed by signal (?!9|15)")
        if result.returncode == 0:
            self.assertIn("right\n", result.stdout)
        else:
            self.assertTrue(any(word in result.stderr for word in words), result.stderr)


class BadBuffers(DeviceTest):
    def test_past_the_end(self):
        result = self.job("past_end")
        self.assert_right(result)

    def test_freed_before_the_message_is_taken(self):
        self.assert_right_or_reported(self.job("freed"), ERROR, "MPI_ERR")


class FailingCalls(DeviceTest):
    """Each driver call fails permanently from some time on, on all ranks or on one."""

    # CUDA_ERROR_OUT_OF_MEMORY for allocations, else CUDA_ERROR_ILLEGAL_ADDRESS, which stays.
    CALLS = {
        "cuMemAlloc": 2, "cuMemHostRegister": 2, "cuMemHostAlloc": 2, "cuIpcGetMemHandle": 1, "cuIpcOpenMemHandle": 205,
        "cuIpcCloseMemHandle": 1, "cuMemcpyAsync": 700, "cuMemcpyPeerAsync": 700, "cuLaunchKernel": 700,
        "cuEventCreate": 2, "cuEventRecord": 700, "cuEventQuery": 700, "cuStreamCreate": 2, "cuStreamQuery": 700,
        "cuStreamWaitEvent": 700, "cuStreamSynchronize": 700, "cuModuleLoadData": 2, "cuModuleGetFunction": 500,
        "cuPointerGetAttributes": 700, "cuCtxPushCurrent": 700, "cuCtxEnablePeerAccess": 217,
    }

    def check(self, call, time_of_failure, one_rank):
        code = self.CALLS[call]
        fault = f"FAKE_CUDA_FAIL={call}:{time_of_failure}:{code}"
        if one_rank:
            words = ("-n", "1", "-x", fault, PROGRAM, "exchange", ":", "-n", "1", PROGRAM, "exchange")
            result = run("--timeout", str(LIMIT), *words, limit=LIMIT + 30)
        else:
            result = self.job("exchange", fault)
        with self.subTest(call=call, time=time_of_failure, one_rank=one_rank):
            self.assert_right_or_reported(result, call, ERROR, "CUDA_ERROR")

    def test_at_once(self):
        for call in self.CALLS:
            if call not in ("cuMemAlloc", "cuCtxPushCurrent"):  # the program's own calls are first
                self.check(call, 1, one_rank=False)

    def test_later(self):
        for call in self.CALLS:
            self.check(call, 8, one_rank=False)

    def test_later_on_one_rank(self):
        for call in self.CALLS:
            self.check(call, 9, one_rank=True)

    def test_fallbacks(self):
        for fault in ("cuIpcGetMemHandle:1:1", "cuIpcOpenMemHandle:1:205", "cuModuleLoadData:1:209",
                      "cuMemHostRegister:1:2"):
            with self.subTest(fault=fault):
                self.assert_right(self.job("exchange", f"FAKE_CUDA_FAIL={fault}"))

    def test_without_peer_access(self):
        self.assert_right(self.job("exchange", "FAKE_CUDA_PEER=0", "FAKE_CUDA_DEVICES=3", ranks=3))

    def test_without_kernels_for_the_device(self):
        self.assert_right(self.job("exchange", "FAKE_CUDA_NO_BINARY=1"))

    def test_a_device_that_is_full(self):
        # The program's own memory fits, and little more.
        for megabytes in (21, 24, 40):
            with self.subTest(megabytes=megabytes):
                result = self.job("exchange", f"FAKE_CUDA_MEMORY={megabytes << 20}", "FAKE_CUDA_DEVICES=1")
                self.assert_right_or_reported(result, OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY")

    def test_without_a_driver(self):
        words = ("-x", "LD_LIBRARY_PATH=", PROGRAM, "exchange")
        result = run("--timeout", str(LIMIT), "-n", "2", *words, limit=LIMIT + 30)
        self.assertIn(result.returncode, (0,), result.stderr)


class LostPeers(DeviceTest):
    def kill_one(self, *environment):
        """Checks that the job ends soon. A busy machine may delay some attempts."""
        took = [self.seconds_to_end(*environment)]
        while len(took) < 3 and took[-1] >= 5:
            took.append(self.seconds_to_end(*environment))
        self.assertLess(took[-1], 5, took)

    def seconds_to_end(self, *environment):
        words = [word for variable in environment for word in ("-x", variable)]
        process = subprocess.Popen([MPIEXEC, "--timeout", str(LIMIT), "-n", "3", *words, PROGRAM, "endless"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        ranks = []
        while len(ranks) < 3:
            line = process.stdout.readline()
            self.assertNotEqual(line, "", "the job has ended")
            ranks += [int(pid) for pid in re.findall(r"under way (\d+)", line)]
        os.kill(ranks[1], signal.SIGKILL)
        start = time.monotonic()
        _, errors = process.communicate(timeout=LIMIT)
        took = time.monotonic() - start
        self.assertEqual(process.returncode, 137, errors)
        self.assertIn("killed by signal 9", errors)
        return took

    def test_between_devices(self):
        self.kill_one("FAKE_CUDA_DEVICES=3")

    def test_on_one_device(self):
        self.kill_one("FAKE_CUDA_DEVICES=1")

    def test_without_peer_access(self):
        self.kill_one("FAKE_CUDA_DEVICES=3", "FAKE_CUDA_PEER=0")


if __name__ == "__main__":
    unittest.main()
