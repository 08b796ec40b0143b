"""A rank dies while streams of the others wait for it (streams/dead_peer.cpp)."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
from headrace import counters  # noqa: E402

# HIP streams can neither be captured with operations nor execute matched ones alone.
on_hip = os.environ.get("HR_MAKER") == "hip"


class DeadPeer(unittest.TestCase):
    def go_on(self, what: str, waits: str = "kernel", devices: int = 2):
        for hosts in (1, 2):
            result = subprocess.run([os.environ["HR_MPIEXEC"], "--enable-recovery", "--timeout", "40", "-n", "3", os.environ["HR_DEAD_PEER"], what],
                                    capture_output=True, text=True, timeout=100, env=os.environ | {"HEADRACE_AS_HOSTS": str(hosts), "HEADRACE_STREAM_WAITS": waits, "FAKE_CUDA_DEVICES": str(devices)})
            self.assertEqual(result.stdout.count("went on after"), 2, f"{what}, {hosts} hosts: {result.stderr}")

    def test_a_receive(self):
        self.go_on("receive")

    def test_a_receive_from_any_rank(self):
        self.go_on("any")

    def test_a_reduction(self):
        self.go_on("allreduce")

    @unittest.skipIf(on_hip, "no captures")
    def test_a_graph(self):
        self.go_on("graph")

    def test_a_matched_message(self):
        self.go_on("matched", waits="stream")

    def test_a_matched_reduction(self):
        self.go_on("reduction", waits="stream")

    def test_a_kernel_that_waits(self):
        for what in ("matched", "matched_long", "reduction", "reduction_long"):
            self.go_on(what, devices=3)


class Silent(unittest.TestCase):
    """A rank does nothing while streams of the others wait for it: mpiexec --timeout says for what they wait."""

    def report(self, what: str, devices: int) -> str:
        for seconds in (10, 40):  # in which ranks on a busy machine may not come to the wait
            result = subprocess.run([os.environ["HR_MPIEXEC"], "--timeout", str(seconds), "-n", "2", os.environ["HR_DEAD_PEER"], what, "silent"],
                                    capture_output=True, text=True, timeout=100, env=os.environ | {"FAKE_CUDA_DEVICES": str(devices)})
            self.assertEqual(result.returncode, 124, result.stderr)
            if "waits for" in result.stderr:
                break
        return result.stderr

    def test_a_receive(self):
        self.assertRegex(self.report("receive", 2), r"headrace 0/2\] the stream of a communicator of 2 processes.*, waits for: receive from rank 1 with tag 0")

    def test_a_matched_message(self):
        waits = r"waits for: persistent receive" if on_hip else r"matched operations: persistent receive from rank 1 with tag 0"
        self.assertRegex(self.report("matched", 2), r"headrace 0/2\] the stream .*" + waits)


@unittest.skipIf(on_hip, "no captures")
class AtFinalize(unittest.TestCase):
    """MPI_Finalize waits for a message that no rank sends, and says so (streams/at_finalize.cpp). The page of counters,
    which the monitor reads, shows the operation as pending."""

    def test_a_receive_that_cannot_end(self):
        for seconds in (3, 12, 48):  # in which ranks on a busy machine may not come to MPI_Finalize
            with tempfile.TemporaryDirectory(prefix="at-finalize-") as directory:
                saved = f"{directory}/run.hrc"
                result = subprocess.run([os.environ["HR_MPIEXEC"], "--timeout", str(seconds), "--save-counters", saved, "-n", "2", os.environ["HR_AT_FINALIZE"], "never"],
                                        capture_output=True, text=True, timeout=100, env=os.environ | {"HEADRACE_CHECK_WAIT_SECONDS": "0.3"})
                pages = {page.rank: page.read() for page in counters.load(saved)}
            self.assertEqual(result.returncode, 124, result.stderr)
            if "MPI_Finalize wait for that" in result.stderr:
                break
        self.assertRegex(result.stderr, r"headrace 0/2\] the stream of a communicator of 2 processes.*, waits for: receive from rank 1 with tag 7; "
                                        r"MPI_Comm_free and MPI_Finalize wait for that")
        self.assertEqual([pages[rank].value("library.enqueued_pending") for rank in range(2)], [1, 0])
        # Each rank has also exchanged two messages, one of them in a graph, and a reduction; streams alone, two messages.
        for rank in range(2):
            self.assertEqual(pages[rank].value("library.enqueued_done"), 5)
            self.assertEqual(pages[rank].value("library.enqueued_by_streams"), 2)


if __name__ == "__main__":
    unittest.main()
