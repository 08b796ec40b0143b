"""Where the pages of this host are: memory files that processes hold open, the ranks and, until the job ends, our mpiexec."""

from __future__ import annotations

import math
import mmap
import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from .page import Page, Problem

# headrace.<job>.counters.<rank>, the name of a memory file (or a file in one of the directories).
NAME = re.compile(r"headrace\.(?P<job>[\w-]+)\.counters\.(?P<rank>\d+)")
MEMORY_FILE = re.compile(r"/memfd:" + NAME.pattern + r" \(deleted\)")


@dataclass
class Found:
    pages: list[Page] = field(default_factory=list)   # by job and rank
    problems: list[str] = field(default_factory=list)  # a sentence for each page that cannot be read

    def jobs(self) -> dict[str, list[Page]]:
        jobs: dict[str, list[Page]] = {}
        for page in self.pages:
            jobs.setdefault(page.job, []).append(page)
        return jobs


def directories() -> list[str]:
    """Where jobs of this environment have their files."""
    return [os.environ.get("HEADRACE_SHM_DIR") or "/dev/shm"]


class Idle:
    """Processes that have kept no page for a while: who looks again and again asks them seldom. A page that one of them makes
    after all is found `again` seconds later at most."""

    def __init__(self, age: float = 20.0, again: float = 15.0):
        self.age, self.again = age, again
        self._since: dict[str, float] = {}
        self._all_at = 0.0

    def skipped(self, processes: Iterable[str]) -> set[str]:
        now = time.monotonic()
        if now >= self._all_at:
            self._all_at = now + self.again
            return set()
        return {each for each in processes if now - self._since.get(each, now) > self.age}

    def looked(self, processes: Iterable[str], owners: set[str]) -> None:
        """`processes`: all that there are; `owners`: of those that were looked at, who have pages."""
        now = time.monotonic()
        before = {each: since for each, since in self._since.items() if since != math.inf}
        self._since = {each: math.inf if each in owners else before.get(each, now) for each in processes}


def look(job: str | None = None, where: Iterable[str] | None = None, known: Iterable[Page] = (), idle: Idle | None = None) -> Found:
    """All pages that this user may read. `job`: that one's alone. `known`: pages of an earlier look, which are taken
    over instead of being opened again. `idle`: the same at each look, for those who look often."""
    found = Found()
    seen: set[tuple[int, int]] = set()
    open_ones = {page.file: page for page in known}
    for path in sorted({*files(directories() if where is None else where), *memory_files(idle)}):
        match = NAME.search(path if "/fd/" not in path else link(path))
        if match is None or job is not None and match["job"] != job:
            continue
        try:
            status = os.stat(path)
        except OSError:
            continue  # it has ended
        file = (status.st_dev, status.st_ino)
        if file in seen:
            continue  # mpiexec has it open as well, or a child that has it from its parent
        seen.add(file)
        if file in open_ones:
            found.pages.append(open_ones[file])
            continue
        try:
            page = open_page(path)
            page.file = file
            found.pages.append(page)
        except Problem as problem:
            found.problems.append(str(problem))
        except FileNotFoundError:
            pass  # it has ended
        except OSError as error:
            found.problems.append(f"{path}: {error.strerror}")
    found.pages.sort(key=lambda page: (page.job, page.rank))
    return found


def open_page(path: str) -> Page:
    with open(path, "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise FileNotFoundError(path)  # just being made
        return Page(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), path)


def files(where: Iterable[str]) -> list[str]:
    paths = []
    for directory in where:
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        paths += [os.path.join(directory, name) for name in names if NAME.fullmatch(name)]
    return paths


def link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def memory_files(idle: Idle | None = None) -> list[str]:
    """Descriptors of processes; none is left when all that have it open have ended."""
    paths, user = [], os.getuid()
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    skipped = idle.skipped(processes) if idle else set()
    for name in processes:
        if name in skipped:
            continue
        directory = f"/proc/{name}/fd"
        try:
            if user != 0 and os.stat(f"/proc/{name}").st_uid != user:
                continue
            numbers = os.listdir(directory)
        except OSError:
            continue
        paths += [path for number in numbers
                  if MEMORY_FILE.fullmatch(link(path := f"{directory}/{number}")) and is_makers(path)]
    if idle:
        idle.looked(processes, {path.split("/")[2] for path in paths})
    return paths


def is_makers(path: str) -> bool:
    """Readers, this one as well, have it open only for reading."""
    try:
        return bool(os.lstat(path).st_mode & 0o200)
    except OSError:
        return False
