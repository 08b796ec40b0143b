"""A stranger on the host connects to a job's ranks over the library's own transport for TCP, and sends nothing, nonsense,
or a handshake without the key. The ranks close such connections soon, and the job succeeds."""

import os
import socket
import struct
import unittest

from test_network import TWO_USERS, Job, connect_as_stranger, flood_all, listening, seconds_of, users

HELLO = 0x314F4C4C45485248  # src/transport/tcp/handshake.cpp
CONNECTIONS = 400
CLOSED_AFTER = 10  # seconds; the limit is one, on a machine that is not busy


def hello(name: int, proof: int = 0x0123456789ABCDEF, channel: int = 0) -> bytes:
    return struct.pack("<QQQQQ", HELLO, name | channel << 32, 1, 2, proof)


class OwnTcp(unittest.TestCase):
    usual: float

    @classmethod
    def setUpClass(cls) -> None:
        cls.usual = seconds_of(cls.job())

    @staticmethod
    def job() -> Job:
        return Job("--as-hosts", "2", HEADRACE_NETWORK="tcp", HEADRACE_VERBOSE="1")

    def connect(self, address: tuple[str, int], data: bytes = b"") -> socket.socket:
        made = connect_as_stranger(address)
        self.addCleanup(made.close)
        if data:
            made.sendall(data)
        return made

    def assert_closed(self, connection: socket.socket) -> None:
        connection.settimeout(CLOSED_AFTER)
        try:
            self.assertEqual(connection.recv(64), b"", "a stranger was answered")
        except ConnectionResetError:
            pass

    def assert_ends_right(self, job: Job) -> str:
        """Ends the job, which may take as long as it may be delayed."""
        job.mark()
        code, out, errors = job.end()
        job.assert_prompt("the end", self.usual)
        self.assertEqual(code, 0, out + errors)
        self.assertEqual(out.count("right\n"), 2, out)
        return errors

    @unittest.skipUnless(TWO_USERS, "this is not root, or another user cannot run what was built")
    def test_job_and_stranger_are_two_users(self):
        with self.job() as job:
            process = job.ready()[0]
            self.assertEqual(os.stat(f"/proc/{process}").st_uid, users.OWNER)
            made = self.connect(listening(process)[0])
            self.assertEqual(os.fstat(made.fileno()).st_uid, users.STRANGER)
            self.assert_ends_right(job)

    def test_nothing_listens_outside_the_loopback(self):
        with self.job() as job:
            for process in job.ready():
                addresses = listening(process)
                self.assertEqual({address for address, _ in addresses}, {"127.0.0.1"})
            self.assert_ends_right(job)

    def test_what_does_not_prove_the_key_is_closed(self):
        said = [b"", b"x", hello(0)[:39], hello(0), hello(1), hello(2), hello(0x80000000), hello(1 << 40),
                hello(1, channel=1), bytes(40), b"\xff" * 4000, hello(1, 0) + bytes(1000), b"GET / HTTP/1.1\r\n\r\n" * 3]
        with self.job() as job:
            processes = job.ready()
            for process in processes:
                for address in listening(process):
                    for connection in [self.connect(address, each) for each in said]:
                        self.assert_closed(connection)
            for process in processes:
                job.wait_until_dropped(process, len(said) - 4)  # those that end early are closed without a count
            self.assertEqual(self.assert_ends_right(job).count("dropped"), 2)

    def test_a_flood_of_silent_connections(self):
        with self.job() as job:
            for process in job.ready():
                for address in listening(process):
                    flood = [self.connect(address, hello(1)[:at % 40]) for at in range(CONNECTIONS)]
                    for connection in flood:
                        self.assert_closed(connection)
            self.assert_ends_right(job)

    def test_a_flood_while_the_ranks_connect(self):
        """The flood starts as soon as a rank listens, before the ranks have sent anything."""
        with self.job() as job:
            flood_all(job, lambda address: [self.connect(address, hello(0)[:at % 41]) for at in range(CONNECTIONS)])
            job.ready()
            job.assert_prompt("the start", self.usual)
            self.assert_ends_right(job)


if __name__ == "__main__":
    unittest.main()
