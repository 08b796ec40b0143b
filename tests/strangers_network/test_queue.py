"""A stranger fills the queue of connections of a rank that computes. Another rank, which sends its first message
meanwhile, waits until the first one makes MPI calls again, for any number of times HEADRACE_NETWORK_TIMEOUT: the host
answers. HR_NETWORK names the transport.

The test makes a network namespace of its own, in which a queue holds two connections, and so needs root. Job and
stranger are two users (../strangers/users.py)."""

import ctypes
import os
import re
import socket
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

from test_network import SECONDS, TWO_USERS, Job, connect_as_stranger, listening, users

NETWORK, QUEUE = os.environ["HR_NETWORK"], os.environ["HR_QUEUE"]
HELD = 2
MOST = 20
CLONE_NEWNET = 0x40000000  # <sched.h>
TIMEOUT = 0.5
NOTE = "accepts no connections at"


def setUpModule() -> None:
    """Enters the namespace. The users were reserved outside it, where other tests see that (../strangers/users.py)."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise unittest.SkipTest(f"no network namespace: {os.strerror(ctypes.get_errno())}")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    Path("/proc/sys/net/core/somaxconn").write_text(str(HELD), encoding="ascii")


def waiting(address: tuple[str, int]) -> int:
    """Returns the number of connections that the process at this address has not accepted."""
    local = f"{struct.unpack('=I', socket.inet_aton(address[0]))[0]:08X}:{address[1]:04X}"
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        words = line.split()
        if words[1] == local and words[3] == "0A":
            return int(words[4].partition(":")[2], 16)
    raise AssertionError(f"nothing listens at {address}")


class QueueJob(Job):
    """Two ranks that wait for a byte from their FIFOs before they communicate."""

    def __init__(self, directory: Path) -> None:
        self.fifos = [directory / str(rank) for rank in range(2)]
        for each in self.fifos:
            os.mkfifo(each)
            each.chmod(0o644)
        super().__init__("--as-hosts", "2", program=(QUEUE, *map(str, self.fifos)), HEADRACE_NETWORK=NETWORK,
                         HEADRACE_NETWORK_TIMEOUT=str(TIMEOUT), HEADRACE_VERBOSE="1")

    def processes(self) -> dict[int, int]:
        """Returns the process of each rank, once both compute."""
        self.wait_for("the ranks do not start", lambda said: said.count("started ") == 2)
        found = re.findall(r"^started (\d+) (\d+)$", "".join(self.lines), re.MULTILINE)
        return {int(rank): int(process) for process, rank in found}

    def release(self, rank: int) -> None:
        self.fifos[rank].write_bytes(b"x")

    def wait_for_note(self) -> None:
        with self.known:
            self.known.wait_for(lambda: any(NOTE in line for line in self.errors) or self.ended, SECONDS)
            if not any(NOTE in line for line in self.errors):
                raise AssertionError("rank 0 does not wait for rank 1: " + "".join(self.lines + self.errors))


class FullQueue(unittest.TestCase):
    def fill(self, address: tuple[str, int]) -> None:
        """Connects until the system ignores further requests."""
        for _ in range(MOST):
            if waiting(address) > HELD:
                return
            self.addCleanup(connect_as_stranger(address).close)
        self.fail("the rank accepts connections while it computes")

    def test_a_rank_that_computes(self):
        with tempfile.TemporaryDirectory() as directory:
            Path(directory).chmod(0o755)
            with QueueJob(Path(directory)) as job:
                processes = job.processes()
                if TWO_USERS:
                    self.assertEqual(os.stat(f"/proc/{processes[1]}").st_uid, users.OWNER)
                addresses = listening(processes[1])
                self.assertTrue(addresses, "the rank listens")
                for address in addresses:
                    self.fill(address)
                job.release(0)
                job.wait_for_note()
                for address in addresses:
                    self.assertGreater(waiting(address), HELD, "the queue is still full")
                job.release(1)
                code, out, errors = job.end()
        self.assertEqual(code, 0, out + errors)
        self.assertEqual(out.count("right\n"), 2, out)
        self.assertEqual(errors.count(NOTE), 1, errors)


if __name__ == "__main__":
    unittest.main()
