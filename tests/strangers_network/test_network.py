"""A stranger on the host sends messages to a job's ranks over TCP, like a UCX process. The job succeeds whatever is
sent.

UCX itself executes some requests (its PUT, its own control messages), which only UCX can prevent; everything that UCX
passes to Headrace is tested here. Run as root, the job and the stranger are two users (../strangers/users.py). TCP does
not distinguish users, so otherwise both are the user who runs the tests.
"""

import contextlib
import fcntl
import os
import re
import resource
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "strangers"))
import users  # noqa: E402  (needs the path above)

MPIEXEC = os.environ["HR_MPIEXEC"]
TALK = os.environ["HR_TALK"]
SECONDS = 100
# Seconds by which a flood may delay a job, at most: less than HEADRACE_NETWORK_TIMEOUT, after which paths fail. Jobs also
# get a multiple of the time that they take without a flood, which depends on the load of the machine.
DELAY = 15
MULTIPLE = 4
CONNECTIONS = 200
TWO_USERS = not users.why_not(MPIEXEC, TALK)

# UCX's protocol over TCP: a number that opens a connection, then frames (kind, length of what follows).
HELLO = struct.pack("<Q", 0xCAFEBABE12345678)
CONNECT_FRAME, CONNECT_EVENT = 0x20, 1
MESSAGE_FRAME = 23  # an active message in one frame
LISTENS = "0A"

# Headrace's own part: the handler's number, and the words before a message (src/transport/network/buffers.hpp).
MESSAGES, DISCONNECTS = range(2)
KINDS = 64


def frame(kind: int, body: bytes) -> bytes:
    return struct.pack("<BI", kind, len(body)) + body


def message(handler: int, data: bytes = b"", header: bytes = b"") -> bytes:
    """Returns the arguments of a handler: the data, followed by a separate header."""
    return frame(MESSAGE_FRAME, struct.pack("<HHI", handler, 0, len(header)) + data + header)


def head(sequence: int, sender: int, kind: int, secret: int = 0, *words: int) -> bytes:
    more = [*words, 0, 0][:2]
    return struct.pack("<IIQQQQ", sequence, sender, secret, kind, *more)


def as_stranger():
    return users.acting_as(users.STRANGER) if TWO_USERS else contextlib.nullcontext()


def owner() -> dict:
    """Returns arguments of Popen that start a job."""
    return {"user": users.OWNER, "group": users.OWNER, "extra_groups": [], "cwd": "/"} if TWO_USERS else {}


def stranger() -> dict:
    return {"user": users.STRANGER, "group": users.STRANGER, "extra_groups": [], "cwd": "/"} if TWO_USERS else {}


def connect_as_stranger(address: tuple[str, int]) -> socket.socket:
    with as_stranger():  # a socket belongs to the user who makes it
        made = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
    made.settimeout(5)
    try:
        made.connect(address)
    except OSError:
        made.close()
        raise
    return made


def sockets_of(process: int) -> set[str]:
    found = set()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        try:
            name = os.readlink(entry)
        except OSError:
            continue
        if name.startswith("socket:["):
            found.add(name[8:-1])
    return found


def listening(process: int) -> list[tuple[str, int]]:
    """Returns the addresses and ports on which the process listens."""
    mine, found = sockets_of(process), []
    for family, table in ((socket.AF_INET, "tcp"), (socket.AF_INET6, "tcp6")):
        path = Path(f"/proc/{process}/net/{table}")
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            _, local, _, state = line.split()[:4]
            inode = line.split()[9]
            if state != LISTENS or inode not in mine:
                continue
            address, port = local.split(":")
            words = [struct.pack("=I", int(address[at:at + 8], 16)) for at in range(0, len(address), 8)]
            found.append((socket.inet_ntop(family, b"".join(words)), int(port, 16)))
    return found


def descriptor_table(process: int) -> int:
    """Returns the number of descriptors for which the system's table of the process's open files has room."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    size = re.search(r"^FDSize:\s+([1-9]\d*)$", status, re.MULTILINE)
    if size is None:
        raise ProcessLookupError(f"process {process} has ended")
    return int(size[1])


def enlarge_descriptor_table() -> None:
    """Makes room for all floods. In a process with threads, Linux lets a thread wait whenever the table grows, beside a
    load for seconds; this process has none yet."""
    most = min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 4096)
    with open(os.devnull, encoding="ascii") as any_file:
        os.close(fcntl.fcntl(any_file, fcntl.F_DUPFD_CLOEXEC, most - 1))


enlarge_descriptor_table()


class Stranger:
    """Opens a connection as UCX does."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        host, port = self.socket.getsockname()
        own = struct.pack("<H", socket.AF_INET) + struct.pack(">H", port) + socket.inet_aton(host) + bytes(8)
        self.socket.sendall(HELLO + frame(CONNECT_FRAME, struct.pack("<IBQ", CONNECT_EVENT, 0, 0) + own))
        self.answer = self.socket.recv(64)

    def say(self, *frames: bytes) -> None:
        for each in frames:
            self.socket.sendall(each)


class Job:
    """Two ranks, as if on two hosts, that exchange messages until they are told to end, or of another program."""

    def __init__(self, *words: str, program: tuple[str, ...] = (TALK,), **environment: str) -> None:
        settings = {name: value for name, value in os.environ.items() if not name.startswith(("UCX_", "HEADRACE_"))}
        for name in ("HEADRACE_OVERSUBSCRIBE", "HEADRACE_UCX_DIR"):
            if name in os.environ:
                settings[name] = os.environ[name]
        if TWO_USERS:
            settings["HOME"] = "/"  # the owner cannot read that of root
        self.process = subprocess.Popen(
            [MPIEXEC, "--timeout", str(SECONDS), "-n", "2", *words, *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**settings, **environment}, **owner())
        self.marked = time.monotonic()
        self.tables: dict[int, int] = {}
        self.lines: list[str] = []
        self.errors: list[str] = []
        self.known = threading.Condition()
        self.ended = False
        self.readers = [threading.Thread(target=self.read, args=pair, daemon=True)
                        for pair in ((self.process.stdout, self.lines), (self.process.stderr, self.errors))]
        for each in self.readers:
            each.start()

    def read(self, stream, into: list[str]) -> None:
        for line in stream:
            with self.known:
                into.append(line)
                self.known.notify_all()
        with self.known:
            self.ended = True
            self.known.notify_all()

    def wait_for(self, what: str, holds) -> None:
        with self.known:
            self.known.wait_for(lambda: holds("".join(self.lines)) or self.ended, SECONDS)
            if not holds("".join(self.lines)):
                raise AssertionError(f"{what}: " + "".join(self.lines + self.errors))

    def ready(self) -> list[int]:
        """Returns the process of each rank."""
        self.wait_for("the ranks do not talk", lambda said: said.count("ready ") == 2)
        processes = [int(process) for process in re.findall(r"^ready (\d+)", "".join(self.lines), re.MULTILINE)]
        for process in processes:
            self.note_table(process)
        return processes

    def wait_until_dropped(self, process: int, least: int) -> None:
        pattern = re.compile(rf"^{process} dropped (\d+)$", re.MULTILINE)
        self.wait_for(f"process {process} has not dropped {least} messages",
                      lambda said: any(int(count) >= least for count in pattern.findall(said)))

    def mark(self) -> None:
        """Begins the time that assert_prompt() measures."""
        self.marked = time.monotonic()

    def assert_prompt(self, what: str, usual: float) -> None:
        """`usual`: seconds that a whole job takes here without strangers."""
        took, most = time.monotonic() - self.marked, DELAY + MULTIPLE * usual
        if took > most:
            raise AssertionError(f"{what} took {took:.1f} s, at most {most:.1f} s are allowed: " + "".join(self.errors))

    def note_table(self, process: int) -> None:
        """Notes the size of the table of the rank's open files, unless it is known."""
        if process not in self.tables:
            self.tables[process] = descriptor_table(process)

    def assert_tables_kept(self) -> None:
        """A rank whose table grows does not look at its messages meanwhile."""
        now = self.tables.copy()
        for process in self.tables:
            with contextlib.suppress(OSError):  # end() reports that it has ended
                now[process] = descriptor_table(process)
        if now != self.tables:
            raise AssertionError(f"connections made the tables of the ranks' open files grow from {self.tables} to {now}")

    def end(self) -> tuple[int, str, str]:
        self.assert_tables_kept()
        self.process.stdin.close()
        code = self.process.wait(SECONDS)
        for each in self.readers:
            each.join(SECONDS)
        return code, "".join(self.lines), "".join(self.errors)

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


def seconds_of(job: Job) -> float:
    """Returns the time that the job takes."""
    start = time.monotonic()
    with job:
        job.ready()
        if job.end()[0] != 0:
            raise AssertionError("a job without strangers fails: " + "".join(job.errors))
    return time.monotonic() - start


def ranks_of(launcher: int) -> list[int]:
    try:
        children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(child) for child in children.split()]


def addresses_of(process: int) -> set[tuple[str, int]]:
    try:
        return set(listening(process))
    except OSError:
        return set()


def flood_all(job: Job, flood) -> None:
    """Calls flood(address) as soon as a rank listens, for both ranks of a job that has just been started, and begins the
    time that assert_prompt() measures."""
    flooded: set[tuple[str, int]] = set()
    end = time.monotonic() + SECONDS
    while len(flooded) < 2 and not job.ended and time.monotonic() < end:
        for process in ranks_of(job.process.pid):
            for address in addresses_of(process) - flooded:
                flooded.add(address)
                job.note_table(process)
                flood(address)
    if len(flooded) != 2:
        raise AssertionError(f"{len(flooded)} ranks were flooded: " + "".join(job.errors))
    job.mark()


class Network(unittest.TestCase):
    def connect(self, address: tuple[str, int]) -> socket.socket:
        made = connect_as_stranger(address)
        self.addCleanup(made.close)
        return made

    def speak(self, address: tuple[str, int], *frames: bytes) -> None:
        """Sends as much of the data as UCX accepts before it closes the connection."""
        stranger = Stranger(self.connect(address))
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            stranger.say(*frames)

    def assert_dropped(self, least: int, *frames: bytes, before=None) -> None:
        """Sends the frames to all ranks of a job; each must drop at least `least` messages and then succeed. `before`:
        called with each address first."""
        with Job("--as-hosts", "2", HEADRACE_NETWORK="ucx", HEADRACE_VERBOSE="1") as job:
            processes = job.ready()
            for process in processes:
                addresses = listening(process)
                self.assertTrue(addresses, "the rank listens")
                for address in addresses:
                    if before is not None:
                        before(address)
                    self.speak(address, *frames)
            for process in processes:
                job.wait_until_dropped(process, least)
            code, out, errors = job.end()
        self.assertEqual(code, 0, out + errors)
        self.assertEqual(len(re.findall("^right$", out, re.MULTILINE)), 2, out)
        self.assertEqual(errors.count("dropped"), 2, errors)  # one line per rank, for any number of messages

    def test_nothing_listens_outside_the_loopback(self):
        with Job("--as-hosts", "2", HEADRACE_NETWORK="ucx") as job:
            for process in job.ready():
                addresses = listening(process)
                self.assertTrue(addresses, "UCX listens on TCP")
                self.assertEqual({address for address, _ in addresses}, {"127.0.0.1"})
            self.assertEqual(job.end()[0], 0)

    def test_a_message_that_is_shorter_than_its_head(self):
        self.assert_dropped(4, *(message(MESSAGES, bytes(length)) for length in (0, 1, 4, 39)))

    def test_senders_that_there_are_not(self):
        self.assert_dropped(4, *(message(MESSAGES, head(0, sender, 1)) for sender in (2, 0x40000000, 0x80000000, 0xFFFFFFFF)))

    def test_a_sender_without_the_secret(self):
        forged = [message(MESSAGES, head(sequence, sender, kind) + bytes([0xEE]) * 2000)
                  for sender in (0, 1) for sequence, kind in enumerate(range(KINDS))]
        self.assert_dropped(2 * KINDS, *forged)

    def test_numbers_far_ahead_are_not_kept(self):
        self.assert_dropped(500, *(message(MESSAGES, head(1000 + number, 1, 1) + bytes(4096)) for number in range(500)))

    def test_disconnects(self):
        texts = [bytes(length) for length in (0, 4, 8, 16, 24, 32, 56, 64)] + [b"\xff" * 64]
        self.assert_dropped(len(texts), *(message(DISCONNECTS, header=text) for text in texts))

    def test_headers_that_are_longer_than_the_message(self):
        lies = [frame(MESSAGE_FRAME, struct.pack("<HHI", handler, 0, length) + bytes(4))
                for handler in (MESSAGES, DISCONNECTS) for length in (16, 32, 40, 64, 1 << 31, 0xFFFFFFFF)]
        self.assert_dropped(1, *lies, message(MESSAGES))

    def test_frames_of_other_kinds(self):
        """UCX's own frames, which UCX accepts or ignores, or after which it closes the connection."""
        self.assert_dropped(1, message(MESSAGES), before=lambda address: [
            self.speak(address, frame(kind, b"\xff" * 64)) for kind in range(32)])

    def test_a_frame_without_end(self):
        self.assert_dropped(1, message(MESSAGES), before=lambda address: self.speak(
            address, struct.pack("<BI", MESSAGE_FRAME, 0xFFFFFFF0) + bytes(20000)))

    def test_handlers_that_there_are_not(self):
        self.assert_dropped(1, *(message(handler, bytes(100)) for handler in (2, 3, 31)), message(MESSAGES))

    def test_a_flood_says_one_line(self):
        self.assert_dropped(5000, *[message(MESSAGES, head(0, 1, 1)) * 100] * 50)

    def test_bytes_that_are_no_protocol(self):
        self.assert_dropped(1, message(MESSAGES), before=lambda address: self.connect(address).sendall(bytes(range(256)) * 20))

    def test_connections_that_say_nothing(self):
        self.assert_dropped(1, message(MESSAGES), before=lambda address: [self.connect(address) for _ in range(CONNECTIONS)])


if __name__ == "__main__":
    unittest.main()
