"""A stranger on the host sends messages to a job's ranks over libfabric, as a libfabric program would
(stranger_ofi.cpp), and opens connections that carry nothing or nonsense. The job succeeds whatever is sent.

libfabric itself reads from the connection first, and only libfabric can make that safe; messages, keys and connections
are tested here."""

import os
import re
import socket
import struct
import subprocess
import unittest
from pathlib import Path

from test_network import SECONDS, Job, connect_as_stranger, flood_all, listening, seconds_of, stranger

STRANGER = os.environ["HR_STRANGER"]
CONNECTIONS = 200
NEWER = Path(os.environ.get("HEADRACE_PEERS", "/nonexistent"), "lib/mpich")


class Libfabric(unittest.TestCase):
    provider = "tcp;ofi_rxm"
    environment = {"FI_OFI_RXM_EAGER_LIMIT": "65792"}  # ofi_rxm connects only processes with the same limit

    usual: float

    @classmethod
    def setUpClass(cls) -> None:
        cls.usual = seconds_of(cls.job())

    @classmethod
    def job(cls) -> Job:
        return Job("--as-hosts", "2", HEADRACE_NETWORK="ofi", HEADRACE_OFI_PROVIDER=cls.provider, **cls.environment)

    def connect(self, address: tuple[str, int]) -> socket.socket:
        made = connect_as_stranger(address)
        self.addCleanup(made.close)
        return made

    def assert_ends_right(self, job: Job) -> str:
        job.mark()
        code, out, errors = job.end()
        job.assert_prompt("the end", self.usual)
        self.assertEqual(code, 0, out + errors)
        self.assertEqual(len(re.findall("^right$", out, re.MULTILINE)), 2, out)
        return errors

    def test_nothing_listens_outside_the_loopback(self):
        with self.job() as job:
            for process in job.ready():
                addresses = listening(process)
                self.assertTrue(addresses, "libfabric listens on TCP")
                self.assertEqual({address for address, _ in addresses}, {"127.0.0.1"})
            self.assert_ends_right(job)

    def test_messages_and_keys_without_the_secret(self):
        with self.job() as job:
            processes = job.ready()
            for process in processes:
                for host, port in listening(process):
                    said = subprocess.run([STRANGER, self.provider, host, str(port)], timeout=SECONDS, text=True, check=False,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **self.environment}, **stranger())
                    sent = re.search(r"^sent (\d+)$", said.stdout, re.MULTILINE)
                    self.assertTrue(sent and int(sent[1]) >= 1, said.stdout)
                    job.wait_until_dropped(process, int(sent[1]) // 2)
            self.assertEqual(self.assert_ends_right(job).count("dropped"), 0)

    def flood(self, address: tuple[str, int]) -> None:
        """Opens connections, and sends nothing, the start of a connection request, or nonsense; all stay open."""
        for _ in range(CONNECTIONS):
            self.connect(address)
        for length in range(1, 17):
            for version, kind in ((2, 0), (3, 0), (3, 1)):
                self.connect(address).sendall(struct.pack(">BBHIQ", version, kind, 0xffff, 0xffffffff, 0)[:length])
        for length in (1, 16, 300, 20000):
            self.connect(address).sendall(bytes(at * 37 % 256 for at in range(length)))

    def test_connections_that_say_nothing_or_nonsense(self):
        with self.job() as job:
            for process in job.ready():
                for address in listening(process):
                    self.flood(address)
            self.assert_ends_right(job)

    def test_a_flood_while_the_ranks_connect(self):
        """The flood starts as soon as a rank listens, before the ranks have sent anything."""
        with self.job() as job:
            flood_all(job, self.flood)
            job.ready()
            job.assert_prompt("the start", self.usual)
            self.assert_ends_right(job)


@unittest.skipUnless((NEWER / "libfabric.so.1").exists(), "HEADRACE_PEERS names no environment with the package mpich")
class Newer(Libfabric):
    """The libfabric of MPICH's wheel, whose provider for TCP needs no second provider."""

    provider = "tcp"
    environment = {"HEADRACE_OFI_DIR": str(NEWER)}


if __name__ == "__main__":
    unittest.main()
