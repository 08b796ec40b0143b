"""Two users without names: the owner of the jobs, and a stranger. Their processes use the loopback interface and their
own directories; the machine's list of users is not changed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import pwd
import signal
import socket
import subprocess
import time
import warnings
from collections.abc import Callable
from pathlib import Path


_reservations: list[socket.socket] = []  # kept open until this process ends


def _reserve(uid: int) -> bool:
    """Prevents other runs of these tests, which kill all processes of their users, from using the same user."""
    reservation = socket.socket(socket.AF_UNIX)
    try:
        reservation.bind(f"\0headrace-tests-user-{uid}")
    except OSError:
        reservation.close()
        return False
    _reservations.append(reservation)
    return True


def _unused(first: int) -> int:
    used = {entry.pw_uid for entry in pwd.getpwall()}
    running = {int(line.split()[1]) for name in os.listdir("/proc") if name.isdigit() for line in _uid_lines(name)}
    return next(uid for uid in range(first, 65000) if uid not in used | running and _reserve(uid))


def _uid_lines(process: str) -> list[str]:
    try:
        with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as file:
            return [line for line in file if line.startswith("Uid:")]
    except OSError:
        return []


def owner_of(entry: Path) -> int | None:
    """Returns the owner of a file that others may remove at any time."""
    try:
        return entry.lstat().st_uid
    except FileNotFoundError:
        return None


OWNER = _unused(61000)
STRANGER = _unused(OWNER + 1)


def become(uid: int) -> None:
    """Makes this a process of that user, without root privileges."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.umask(0o022)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # dies with its parent
    warnings.simplefilter("ignore", ResourceWarning)


def why_not(*paths: str) -> str:
    """Returns why this process cannot run these programs as two users; empty if it can."""
    if os.geteuid() != 0:
        return "this is not root, which alone can be two users of the machine"
    try:
        for path in paths:
            as_user(OWNER, lambda path=path: os.close(os.open(path, os.O_RDONLY)))
    except AssertionError as problem:
        return f"another user cannot run what was built ({problem})"
    return ""


@contextlib.contextmanager
def acting_as(uid: int):
    """Lets this process act as that user, for the files that it opens and the sockets that it makes."""
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def as_user(uid: int, function: Callable, *arguments, seconds: float = 60):
    """Calls the function in a process of that user and returns its result; an exception there is raised here."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            become(uid)
            signal.alarm(int(seconds))
            answer = (True, function(*arguments))
        except BaseException as problem:  # noqa: BLE001 - it is passed to the parent
            answer = (False, repr(problem))
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(pickle.dumps(answer))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    if not text:
        raise AssertionError(f"{function.__name__} of user {uid} did not end within {seconds} s")
    good, answer = pickle.loads(text)
    if not good:
        raise AssertionError(f"{function.__name__} of user {uid}: {answer}")
    return answer


class Beside:
    """Runs a function as the stranger until the end of the block. The function is passed another one that returns true until the block
    ends; its return value is `result` afterwards."""

    def __init__(self, function: Callable, *arguments) -> None:
        self.function = function
        self.arguments = arguments
        self.result = None

    def __enter__(self) -> Beside:
        self.reading, writing = os.pipe()
        waiting, self.stop = os.pipe()
        ready, readied = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            for each in (self.reading, self.stop, ready):
                os.close(each)
            os.set_blocking(waiting, False)
            try:
                become(STRANGER)
                signal.alarm(300)
                answer = self.function(lambda: _goes_on(waiting), lambda: os.write(readied, b"x"), *self.arguments)
            except BaseException as problem:  # noqa: BLE001 - it is told to the parent
                answer = problem
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(pickle.dumps(answer))
            os._exit(0)
        for each in (writing, waiting, readied):
            os.close(each)
        os.read(ready, 1)
        os.close(ready)
        return self

    def __exit__(self, *_) -> None:
        os.close(self.stop)
        with os.fdopen(self.reading, "rb") as pipe:
            text = pipe.read()
        os.waitpid(self.child, 0)
        self.result = pickle.loads(text) if text else AssertionError("it did not end")
        if isinstance(self.result, BaseException):
            raise self.result


def _goes_on(waiting: int) -> bool:
    try:
        return os.read(waiting, 1) != b""
    except BlockingIOError:
        return True


def start(uid: int, command: list[str], home: str, **variables: str) -> subprocess.Popen:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "HEADRACE_"))}
    environment |= {"HEADRACE_OVERSUBSCRIBE": "quiet", "HOME": home, "TMPDIR": home, **variables}
    return subprocess.Popen(command, user=uid, group=uid, extra_groups=[], umask=0o022, cwd=home, env=environment,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            start_new_session=True)


def processes_of(uid: int) -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()
            and any(line.split()[1] == str(uid) for line in _uid_lines(name))]


def wait_for(condition: Callable, what: str, seconds: float = 20):
    """Polls the condition, and returns its first true result."""
    end = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.005)
    return answer
