"""Runs mpiexec from the build tree and checks what it leaves behind. Shared by the tests of this directory."""

from __future__ import annotations

import os
import subprocess
import time
import unittest
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
MPIEXEC = os.environ["HR_MPIEXEC"]
PROBE = os.environ["HR_PROBE"]


def run(*arguments: str, launcher: str = MPIEXEC, limit: float = 60, **options) -> subprocess.CompletedProcess:
    options.setdefault("stdin", subprocess.DEVNULL) if "input" not in options else None
    return subprocess.run(
        [launcher, *arguments], capture_output=True, text=True, timeout=limit, check=False, **options
    )


def marked_processes(mark: str) -> list[int]:
    """Returns processes with the mark in their environment: ranks, and processes that they have started."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def shared_files() -> set[str]:
    return {entry.name for entry in Path("/dev/shm").iterdir() if entry.name.startswith("headrace.headrace_")}


def left_of(found: Callable[[], Collection], seconds: float) -> Collection:
    """Waits until `found` returns nothing, at most this number of seconds; returns the remaining results."""
    deadline = time.monotonic() + seconds
    while (left := found()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def within(limit: float, attempt: Callable[[], T], attempts: int = 4) -> T:
    """Returns the result of the first attempt that takes no longer than `limit` seconds. A busy machine may delay some
    attempts; a job that waits for a time limit of the library is late in all of them."""
    for _ in range(attempts):
        begin = time.monotonic()
        result = attempt()
        took = time.monotonic() - begin
        if took < limit:
            return result
    raise AssertionError(f"no attempt ended within {limit:g} s; the last one took {took:.1f} s")


class LaunchTest(unittest.TestCase):
    """Every test also checks that no process of its jobs is left when mpiexec has returned."""

    # Seconds by which processes may outlive the launcher: Headrace's waits for them, others only tell them to end.
    grace = 0.0

    def setUp(self) -> None:
        self.mark = f"HR_TEST_MARK={self.id()}-{time.monotonic_ns()}"
        name, value = self.mark.split("=", 1)
        os.environ[name] = value

    def tearDown(self) -> None:
        del os.environ["HR_TEST_MARK"]
        self.assertFalse(left_of(lambda: marked_processes(self.mark), self.grace), "processes are left over")

    def assert_no_files_since(self, before: set[str]) -> None:
        """Tolerates files of other jobs on this machine, which exist for a moment while they start."""
        new = shared_files() - before
        self.assertFalse(left_of(lambda: new & shared_files(), 60), "shared-memory files are left over")

    def assert_ended(self, result: subprocess.CompletedProcess, code: int, *words: str) -> None:
        self.assertEqual(result.returncode, code, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)


class FilesTest(LaunchTest):
    """Every test also checks that its jobs leave no shared-memory file."""

    def setUp(self) -> None:
        super().setUp()
        self.files_before = shared_files()

    def tearDown(self) -> None:
        super().tearDown()
        self.assert_no_files_since(self.files_before)
