"""A rank dies, is silent or leaves MPI while streams of the others wait for it."""

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
    """A rank dies (streams/dead_peer.cpp)."""

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

    def test_a_stream_that_was_destroyed(self):
        """Requests keep the communicator of a stream that has gone, about which nobody may ask the driver."""
        for seconds in (2, 10, 40):
            result = subprocess.run([os.environ["HR_MPIEXEC"], "--timeout", str(seconds), "-n", "2", os.environ["HR_DEAD_PEER"], "destroyed"],
                                    capture_output=True, text=True, timeout=100, env=os.environ | {"FAKE_CUDA_DEVICES": "2"})
            self.assertNotIn("drivers crash here", result.stderr)
            self.assertEqual(result.returncode, 124, result.stderr)
            if result.stdout.count("destroyed its stream") == 2:
                break
        self.assertEqual(result.stdout.count("destroyed its stream"), 2)
        self.assertNotIn("the stream of a communicator", result.stderr)


@unittest.skipIf(on_hip, "no captures")
class AtFinalize(unittest.TestCase):
    """MPI_Finalize ends a message that the other rank, which has left MPI, will never send or receive
    (streams/at_finalize.cpp), and waits for any other."""

    def command(self, what: list[str], *options: str) -> list[str]:
        return [os.environ["HR_MPIEXEC"], *options, "-n", "2", os.environ["HR_AT_FINALIZE"], *what]

    def ends(self, what: str, operation: str, why: str = "no message can match it"):
        result = subprocess.run(self.command([what], "--timeout", "60"), capture_output=True, text=True, timeout=100)
        self.assertNotIn(result.returncode, (0, 124), result.stderr)
        self.assertRegex(result.stderr, rf"headrace 0/2\] MPI_Finalize: MPI_ERR_OTHER: an enqueued {operation} failed: {why}, as rank 1 has left MPI")

    def test_a_receive(self):
        self.ends("receive", "receive from rank 1 with tag 7")

    def test_a_persistent_receive(self):
        self.ends("persistent", "persistent receive")

    def test_a_partitioned_receive(self):
        self.ends("partitioned", "partitioned receive")

    def test_partitions_that_are_never_ready(self):
        self.ends("partitions", "partitioned receive")

    def test_a_send(self):
        self.ends("send", "send to rank 1 with tag 7", "no receive can match it")

    def test_a_program_that_handles_the_error(self):
        for how in ("returned", "handled"):
            with self.subTest(how):
                result = subprocess.run(self.command([how], "--timeout", "60"), capture_output=True, text=True, timeout=100)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_message_that_comes_late(self):
        with tempfile.TemporaryDirectory(prefix="at-finalize-") as directory:
            go = Path(directory) / "go"
            os.mkfifo(go)
            # Open for reading, too, so that neither side waits for the other one to open it.
            command = self.command(["late", str(go)], "--timeout", "60")
            with go.open("r+b", buffering=0) as pipe, \
                 subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"HEADRACE_CHECK_WAIT_SECONDS": "0.3"}) as job:
                seen = ""
                for line in job.stderr:
                    seen += line
                    if "MPI_Finalize wait for that" in line:
                        pipe.write(b"!")
            self.assertEqual(job.returncode, 0, seen)
            self.assertIn("MPI_Finalize wait for that", seen)

    def test_a_receive_from_another_host(self):
        """Between hosts no rank leaves before all have called MPI_Finalize, so that the receive cannot end, and a line
        says so. The page of counters, which the monitor reads, shows the operation as pending."""
        for seconds in (3, 12, 48):  # in which ranks on a busy machine may not come to MPI_Finalize
            with tempfile.TemporaryDirectory(prefix="at-finalize-") as directory:
                saved = f"{directory}/run.hrc"
                result = subprocess.run(self.command(["receive"], "--timeout", str(seconds), "--save-counters", saved), capture_output=True, text=True, timeout=100,
                                        env=os.environ | {"HEADRACE_CHECK_WAIT_SECONDS": "0.3", "HEADRACE_AS_HOSTS": "2"})
                pages = {page.rank: page.read() for page in counters.load(saved)}
            self.assertEqual(result.returncode, 124, result.stderr)
            if "MPI_Finalize wait for that" in result.stderr:
                break
        self.assertRegex(result.stderr, r"headrace 0/2\] the stream of a communicator of 2 processes.*, waits for: receive from rank 1 with tag 7; "
                                        r"MPI_Comm_free and MPI_Finalize wait for that")
        self.assertEqual([pages[rank].value("library.enqueued_pending") for rank in range(2)], [1, 0])
        # Each rank has also exchanged two messages, one of them in a graph, two matched ones, and a reduction.
        for rank in range(2):
            self.assertEqual(pages[rank].value("library.enqueued_done"), 7)


if __name__ == "__main__":
    unittest.main()
