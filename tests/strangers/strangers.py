"""strangers.py quick|whole: attacks on a job by a second user of the machine, all of which must fail.

Root uses two users (users.py). In each test, the stranger attacks a job of the owner; the test checks the effect, and
how the job ended. Skipped, with the reason, unless run as root. Only the loopback interface and the test's own
directories are used; processes are identified by their user."""

from __future__ import annotations

import ctypes
import os
import random
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import other_launcher
import users
from users import OWNER, STRANGER, Beside, as_user, start, wait_for

MPIEXEC = os.environ.get("HR_MPIEXEC", "")
PROBE = os.environ.get("HR_PROBE", "")
CONNECT = os.environ.get("HR_CONNECT", "")
SPAWN = os.environ.get("HR_SPAWN", "")
BUILD = os.environ.get("HR_BUILD", "")
HERE = Path(__file__).resolve().parent
SHM = Path("/dev/shm")
WHOLE = "whole" in sys.argv[1:2]
SECRET = re.compile(r"[0-9a-f]{16}")


def listening(uid: int) -> list[tuple[str, int]]:
    """Returns the addresses and ports at which that user's processes listen for TCP."""
    found = []
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        try:
            lines = Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for fields in (line.split() for line in lines):
            if fields[3] == "0A" and int(fields[7]) == uid:
                address, port = fields[1].split(":")
                words = struct.unpack(f">{len(address) // 8}I", bytes.fromhex(address))
                found.append((socket.inet_ntop(family, struct.pack(f"={len(words)}I", *words)), int(port, 16)))
    return found


class JobTest(unittest.TestCase):
    """A folder that is private to the owner; afterwards, no process or file of either user remains."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="headrace-strangers-")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o711)
        self.top = Path(folder.name)
        self.home = self.top / "home"
        self.home.mkdir(mode=0o700)
        os.chown(self.home, OWNER, OWNER)
        self.shared = self.top / "shared"  # writable like /tmp
        self.shared.mkdir()
        os.chmod(self.shared, 0o1777)
        self.addCleanup(self.clean_up)

    def clean_up(self) -> None:
        left = users.processes_of(OWNER) + users.processes_of(STRANGER)
        for process in left:
            os.kill(process, signal.SIGKILL)
        files = [(entry, owner) for entry in SHM.iterdir() if (owner := users.owner_of(entry)) in (OWNER, STRANGER)]
        ours = [entry.name for entry, owner in files if owner == OWNER]
        for entry, _ in files:
            entry.unlink(missing_ok=True)
        self.assertEqual((left, ours), ([], []), "processes or files in shared memory are left over")

    def start(self, *command: str, **variables: str) -> subprocess.Popen:
        return start(OWNER, [str(word) for word in command], str(self.home), **variables)

    def mpiexec(self, *words: str, **variables: str) -> subprocess.Popen:
        return self.start(MPIEXEC, "--timeout", "60", *words, **variables)

    def ended(self, job: subprocess.Popen, code: int = 0, seconds: float = 90) -> str:
        """Returns the job's output. The job must end in time, with that code, and its output must be short and free of
        secrets."""
        try:
            output, errors = job.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            output, errors = job.communicate()
            self.fail(f"the job did not end within {seconds} s\n{output}\n{errors}")
        self.assertEqual(job.returncode, code, output + errors)
        self.assertIsNone(SECRET.search(errors), errors)
        self.assertLess(len(errors), 4096, "a stranger fills the job's standard error")
        return output + errors

    def server(self, ranks: int = 2) -> tuple[subprocess.Popen, Path, int]:
        """Returns a job that waits for others on a port, the file with the port's name, and the port number."""
        file = self.home / "port"
        job = self.mpiexec("-n", str(ranks), CONNECT, "serve", str(file))
        wait_for(lambda: file.exists() or job.poll() is not None, "a port")
        self.assertIsNone(job.poll(), "the job ended early")
        return job, file, int(file.read_text(encoding="ascii").split("_")[2])


# --- A stranger's access to a running job ---

def attack_process(process: int) -> list[str]:
    """Returns the parts of another user's process that are accessible."""
    had = []
    folder = f"/proc/{process}"
    for name in ("mem", "environ", "maps", "syscall", "stack", "auxv", "root", "cwd", "exe"):
        try:
            if name in ("root", "cwd", "exe"):
                os.readlink(f"{folder}/{name}")
            else:
                Path(f"{folder}/{name}").read_bytes()
            had.append(name)
        except OSError:
            continue
    try:
        had += [f"fd {name}" for name in os.listdir(f"{folder}/fd")]
    except OSError:
        pass
    for number in range(64):
        try:
            os.close(os.open(f"{folder}/fd/{number}", os.O_RDONLY | os.O_NONBLOCK))
            had.append(f"fd {number}")
        except OSError:
            continue
    for number in (0, signal.SIGCONT, signal.SIGUSR1, signal.SIGKILL):
        try:
            os.kill(process, number)
            had.append(f"signal {number}")
        except PermissionError:
            continue
    library = ctypes.CDLL(None, use_errno=True)
    library.ptrace.restype = ctypes.c_long
    if library.ptrace(16, process, None, None) == 0:  # PTRACE_ATTACH
        had.append("ptrace")
        library.ptrace(17, process, None, None)
    if library.prlimit(process, 7, None, ctypes.create_string_buffer(16)) == 0:
        had.append("limits")
    if hasattr(os, "pidfd_open"):
        descriptor = os.pidfd_open(process)
        if library.syscall(438, descriptor, 0, 0) >= 0:  # pidfd_getfd
            had.append("pidfd_getfd")
        os.close(descriptor)
    buffer = ctypes.create_string_buffer(8)
    part = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 8)
    far = (ctypes.c_uint64 * 2)(0x400000, 8)
    for name in ("process_vm_readv", "process_vm_writev"):
        if getattr(library, name)(process, part, 1, far, 1, 0) > 0:
            had.append(name)
    return had


def attack_files() -> list[str]:
    """Returns those of the owner's files in the shared-memory directory that can be opened."""
    had = []
    for entry in SHM.iterdir():
        try:
            if entry.lstat().st_uid != OWNER:
                continue
            os.close(os.open(entry, os.O_RDONLY | os.O_NONBLOCK))
            had.append(str(entry))
        except OSError:
            continue
    return had


def visible_words(processes: list[int]) -> str:
    """Returns command lines and names of sockets, which every user may read."""
    text = Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace")
    for process in processes:
        try:
            text += Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
    return text


class RunningJob(JobTest):
    def test_nothing_of_it_is_open_to_others(self):
        job, file, port = self.server()
        secrets = file.read_text(encoding="ascii").split("_")[3:]
        processes = users.processes_of(OWNER)
        self.assertGreaterEqual(len(processes), 3, "mpiexec and two ranks")
        for process in processes:
            self.assertEqual(as_user(STRANGER, attack_process, process), [], f"of process {process}")
        self.assertEqual(as_user(STRANGER, attack_files), [])
        words = as_user(STRANGER, visible_words, processes)
        for secret in secrets:
            self.assertNotIn(secret, words)
        # The job listens only on the port that the program opened, on the loopback interface.
        self.assertEqual(listening(OWNER), [("127.0.0.1", port)])
        self.ended(self.mpiexec("-n", "1", CONNECT, "call", str(file)))
        self.ended(job)


# --- Ports ---

def hold(goes_on, ready, ports: list[int], count: int) -> int:
    """Opens this number of connections that send nothing, nonsense, or nearly the right thing; returns the number of
    connections that the other side closed."""
    held = []
    for number in range(count):
        made = socket.socket()
        made.setblocking(False)
        made.connect_ex(("127.0.0.1", ports[number % len(ports)]))
        held.append(made)
        words = (b"", b"", b"0" * 31, b"0" * 32, b"GET / HTTP/1.0\r\n\r\n", os.urandom(64), b"\xff" * 5000)[number % 7]
        try:
            made.send(words)
        except OSError:
            continue
    ready()
    while goes_on():
        time.sleep(0.01)
    ended = 0
    for made in held:
        try:
            ended += made.recv(1) == b""
        except BlockingIOError:
            continue
        except OSError:
            ended += 1
    return ended


def flood(goes_on, ready, ports: list[int]) -> int:
    """Connects as fast as possible, 200 connections at a time."""
    held: list[socket.socket] = []
    made = 0
    ready()
    while goes_on():
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.setblocking(False)
        one.connect_ex(("127.0.0.1", random.choice(ports)))
        held.append(one)
        made += 1
        if len(held) > 200:
            held.pop(0).close()
    return made


class Ports(JobTest):
    def connect_beside(self, function, *arguments) -> Beside:
        job, file, port = self.server(1)
        with Beside(function, [port], *arguments) as beside:
            begin = time.monotonic()
            self.ended(self.mpiexec("-n", "1", CONNECT, "call", str(file)), seconds=60)
            self.assertLess(time.monotonic() - begin, 30, "strangers hold up who knows the secret")
            self.ended(job)
        return beside

    def test_four_hundred_connections_that_say_nothing(self):
        self.assertEqual(self.connect_beside(hold, 400).result, 400, "connections that were not hung up on")

    @unittest.skipUnless(WHOLE, "in the whole alone")
    def test_a_flood_of_connections(self):
        self.assertGreater(self.connect_beside(flood).result, 1000)

    @unittest.skipUnless(WHOLE, "in the whole alone")
    def test_more_connections_than_the_system_lets_wait(self):
        for _ in range(3):
            self.connect_beside(hold, 900)

    def test_the_port_of_a_spawn(self):
        def attack(goes_on, ready) -> int:
            made = []
            ready()
            while goes_on():
                for _, port in listening(OWNER):
                    one = socket.socket()
                    one.setblocking(False)
                    one.connect_ex(("127.0.0.1", port))
                    made.append(one)
                del made[:-300]
            return len(made)

        with Beside(attack):
            self.ended(self.mpiexec("-n", "1", SPAWN, "values", "2"))

    def test_errors_show_no_secret(self):
        self.ended(self.mpiexec("-n", "1", CONNECT, "errors", HEADRACE_CONNECT_TIMEOUT="0.5"))
        # The port no longer exists; the error ends the program.
        job, file, _ = self.server(1)
        kept = file.read_text(encoding="ascii")
        self.ended(self.mpiexec("-n", "1", CONNECT, "call", str(file)))
        self.ended(job)
        file.write_text(kept, encoding="ascii")
        os.chown(file, OWNER, OWNER)
        late = self.mpiexec("-n", "1", CONNECT, "call", str(file))
        _, errors = late.communicate(timeout=60)
        self.assertNotEqual(late.returncode, 0)
        self.assertIn("127.0.0.1:", errors)
        self.assertIsNone(SECRET.search(errors), errors)


# --- Names in /dev/shm ---

def take_names(goes_on, ready) -> tuple[int, list[str]]:
    """Watches the directory, and creates files with names that the job may be about to use; returns the number of
    names, and the data read from other users' files."""
    taken: dict[str, int] = {}
    ready()
    while goes_on():
        for name in os.listdir(SHM):
            if not name.startswith("headrace.") or name in taken or users.owner_of(SHM / name) != OWNER:
                continue
            wanted = {name + ".1", re.sub(r"\.\d+$", "", name), re.sub(r"\.\d+$", ".0", name)} - {name}
            for each in wanted:
                try:
                    descriptor = os.open(SHM / each, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
                    os.fchmod(descriptor, 0o666)
                    os.ftruncate(descriptor, 1 << 22)
                    taken[each] = descriptor
                except OSError:
                    continue
    read = []
    for name, descriptor in taken.items():
        if any(os.pread(descriptor, 1 << 22, 0)):
            read.append(name)
        try:
            os.unlink(SHM / name)
        except FileNotFoundError:
            continue
    return len(taken), read


class Names(JobTest):
    def test_the_shared_memory_of_a_connection_is_not_taken(self):
        with Beside(take_names) as beside:
            for _ in range(46 if WHOLE else 6):
                self.ended(self.mpiexec("-n", "1", SPAWN, "values", "1"))
        self.assertEqual(beside.result[1], [], "a stranger has read what ranks wrote")

    def test_a_job_whose_name_can_be_guessed(self):
        job = f"kvs_{OWNER}"  # of no other run
        for name in (f"headrace.{job}.host", f"headrace.{job}.0", f"headrace.{job}.coll.0.0", f"headrace.{job}.failures.0"):
            for kind in ("link", "file", "fifo"):
                with self.subTest(name=name, kind=kind):
                    (SHM / name).unlink(missing_ok=True)
                    as_user(STRANGER, squat, str(SHM / name), kind)
                    code, words = as_user(OWNER, other_launcher.run, str(self.home), job, 2, PROBE, "init", "hello",
                                          "exchange", "finalize")
                    self.assertEqual(code, 0, words)
                    self.assertIn("nodes 00", words, "both are on this host")
                    if name.endswith(".host"):
                        self.assertIn(f"{SHM / name} belongs to another user", words)
                    self.assertTrue(os.path.lexists(SHM / name), "what is another user's is left alone")
                    code, words = as_user(OWNER, other_launcher.run, str(self.home), job, 2, SPAWN, "nothing")
                    self.assertEqual(code, 0, words)


def squat(name: str, kind: str) -> None:
    if kind == "link":
        os.symlink("0123456789abcdef0123456789abcdef.4026531836.999999", name)
    elif kind == "fifo":
        os.mkfifo(name)
    else:
        descriptor = os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        os.fchmod(descriptor, 0o666)
        os.ftruncate(descriptor, 1 << 22)
        os.close(descriptor)


# --- Files in directories to which all users may write ---

def make_cache(name: str, kind: str, victim: str) -> None:
    if kind == "link":
        os.mkdir(name + ".of-a-stranger", 0o777)
        os.symlink(name + ".of-a-stranger", name)
    else:
        os.mkdir(name, 0o777)
        os.chmod(name, 0o777)
        os.symlink(victim, f"{name}/.lock")
        for number in ("1", "2-3"):
            os.mkdir(f"{name}/{number}", 0o755)
            Path(f"{name}/{number}/flags").write_text("-fplugin=/tmp/x.so", encoding="ascii")


class SharedDirectories(JobTest):
    def mpifort(self, **variables: str) -> subprocess.Popen:
        nowhere = str(self.top / "nowhere")
        return start(OWNER, ["/bin/sh", f"{BUILD}/bin/mpifort", "-c", "x.f90"], str(self.home),
                     **{"HOME": nowhere, "TMPDIR": str(self.shared), "HEADRACE_FC": "true", **variables})

    def test_mpifort_takes_no_directory_of_another_user(self):
        name = f"{self.shared}/headrace-fortran-{OWNER}"
        victim = self.home / "victim"
        victim.write_text("what is in it", encoding="ascii")
        os.chown(victim, OWNER, OWNER)
        for kind in ("link", "directory"):
            with self.subTest(kind):
                as_user(STRANGER, make_cache, name, kind, str(victim))
                words = self.ended(self.mpifort(), 1)
                self.assertIn(f"{name} is not used", words)
                self.assertNotIn("fplugin", words)
                self.assertEqual(victim.read_text(encoding="ascii"), "what is in it")
                os.rename(name, f"{self.top}/{kind}")

    def test_mpifort_takes_no_directory_that_others_may_write(self):
        name = self.shared / f"headrace-fortran-{OWNER}"
        name.mkdir()
        os.chown(name, OWNER, OWNER)
        os.chmod(name, 0o777)
        self.assertIn("is not used", self.ended(self.mpifort(), 1))
        os.chmod(self.shared, 0o777)  # in a directory where all users may rename it
        os.chmod(name, 0o700)
        self.assertIn("is not used", self.ended(self.mpifort(), 1))
        os.chmod(self.shared, 0o1777)
        open_to_all = self.shared / "cache"
        open_to_all.mkdir()
        os.chmod(open_to_all, 0o777)
        os.chmod(name, 0o777)
        words = self.ended(self.mpifort(HEADRACE_FORTRAN_CACHE=str(open_to_all)), 1)
        self.assertIn(f"{open_to_all} is not used for the modules: every user can write it", words)

    def test_output_goes_into_no_file_of_another_user(self):
        victim = self.home / "victim"
        victim.write_text("what is in it", encoding="ascii")
        os.chown(victim, OWNER, OWNER)
        for kind in ("link", "fifo"):
            with self.subTest(kind):
                folder = self.shared / kind / "1" / "rank.0"
                folder.mkdir(parents=True)
                for each in (folder, folder.parent, folder.parent.parent):
                    os.chmod(each, 0o777)
                if kind == "link":
                    os.symlink(victim, folder / "stdout")
                else:
                    os.mkfifo(folder / "stdout")
                words = self.ended(self.mpiexec("-n", "1", "--output-filename", str(self.shared / kind), "echo", "text"), 1)
                self.assertIn(str(folder / "stdout"), words)
                self.assertEqual(victim.read_text(encoding="ascii"), "what is in it")


def main() -> int:
    if problem := users.why_not(BUILD, MPIEXEC):
        print(f"skipped: {problem}")
        return 77
    if stat.S_IMODE(SHM.stat().st_mode) != 0o1777:
        print(f"skipped: {SHM} is not open to all users")
        return 77
    return 0 if unittest.main(argv=[sys.argv[0], "-v", *sys.argv[2:]], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
