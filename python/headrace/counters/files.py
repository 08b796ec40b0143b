"""Finds the pages on this host: memory files held open by the ranks and, until the job ends, by Headrace's mpiexec.

Reads the pages of this user's processes. With `everyone`, root and service users that may read other users' processes get all pages, and each
counts as its owner's. A page is accepted only if the file
belongs to the user of its process, is regular, and is not too long.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from headrace.own_files import Unfit, open_regular

from .page import PAGE_MOST, File, Page, Problem

# Name of a memory file, or of a file in one of the directories: headrace.<job>.counters.<rank>.
NAME = re.compile(r"headrace\.(?P<job>[\w-]+)\.counters\.(?P<rank>\d+)")
MEMORY_FILE = re.compile(r"/memfd:" + NAME.pattern + r" \(deleted\)")
_PAGES_MOST = 4096  # limit for this user
_OTHERS_MOST = 1024  # limit for each other user
_PROBLEMS_MOST = 64
_NAMES_MOST = 1 << 16  # limit for a directory


@dataclass
class Found:
    pages: list[Page] = field(default_factory=list)   # sorted by job and rank
    problems: list[str] = field(default_factory=list)  # a sentence for each page that cannot be read

    def jobs(self) -> dict[str, list[Page]]:
        jobs: dict[str, list[Page]] = {}
        for page in self.pages:
            jobs.setdefault(page.job_of_owner, []).append(page)
        return jobs


def directories() -> list[str]:
    """Returns directories from this environment with files other than those that processes hold open. A directory that
    others can write to is searched only if it is named explicitly."""
    named = os.environ.get("HEADRACE_SHM_DIR")
    return [named] if named else []


class Idle:
    """Processes that have had no page for a while, which repeated searches check rarely. A page that one of them
    creates later is found within `again` seconds."""

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
        """`processes`: all existing processes; `owners`: the owners of the examined processes that have pages."""
        now = time.monotonic()
        before = {each: since for each, since in self._since.items() if since != math.inf}
        self._since = {each: math.inf if each in owners else before.get(each, now) for each in processes}


def look(job: str | None = None, where: Iterable[str] | None = None, known: Iterable[Page] = (), idle: Idle | None = None,
         everyone: bool = False) -> Found:
    """Returns this user's pages. `everyone`: pages of all users, as far as this user may read them. `job`: only pages
    of that job. `known`: pages from an earlier call, which are reused instead of being reopened. `idle`: the same
    object in each call, for frequent calls."""
    found = Found()
    seen: set[tuple[int, int]] = set()
    open_ones = {page.file: page for page in known}
    owners: Counter[int] = Counter()
    for path in sorted({*files(directories() if where is None else where), *memory_files(idle, everyone)}):
        in_memory = path.startswith("/proc/")
        match = NAME.search(link(path) if in_memory else path)
        if match is None or job is not None and match["job"] != job:
            continue
        try:
            status = os.stat(path) if in_memory else os.lstat(path)
        except OSError:
            continue  # the process has ended
        file = (status.st_dev, status.st_ino)
        if file in seen:
            continue  # the page is also open in mpiexec, or in a child that inherited it
        seen.add(file)
        owners[status.st_uid] += 1
        if owners[status.st_uid] > _most_of(status.st_uid):
            continue
        page = open_ones.get(file) or _try(path, match, in_memory, everyone, found.problems)
        if page:
            found.pages.append(page)
    found.problems += [f"user {owner} has {count} pages of counters; {_most_of(owner)} are looked at"
                       for owner, count in owners.items() if count > _most_of(owner)]
    del found.problems[_PROBLEMS_MOST:]
    found.pages.sort(key=lambda page: (page.job, page.rank, page.owner))
    return found


def _most_of(owner: int) -> int:
    return _PAGES_MOST if owner == os.geteuid() else _OTHERS_MOST


def _try(path: str, match: re.Match, in_memory: bool, everyone: bool, problems: list[str]) -> Page | None:
    """Returns the page; otherwise None, and adds the reason to `problems` if a user should see it."""
    try:
        page = open_page(path, in_memory, everyone)
        if (page.job, page.rank) == (match["job"], int(match["rank"])):
            return page
        problems.append(f"{path}: this page says that it is rank {page.rank} of job {page.job}, which its name does not")
    except Problem as problem:
        problems.append(str(problem))
    except FileNotFoundError:
        pass  # the process has ended
    except Unfit as unfit:
        problems.append(str(unfit))
    except OSError as error:
        problems.append(f"{path}: {error.strerror}")
    return None


def open_page(path: str, in_memory: bool = False, everyone: bool = False) -> Page:
    """`in_memory`: the file is a process's descriptor, whose target that process's user must own. Raises Problem, OSError, Unfit
    (an OSError)."""
    user = os.geteuid()
    if in_memory:
        owners = (os.stat(os.path.dirname(os.path.dirname(path))).st_uid,)
    else:
        owners = None if user == 0 and everyone else (user,)
    file = File(open_regular(path, PAGE_MOST, owners=owners, follow=in_memory))
    status = file.status()
    if file.size == 0:
        raise FileNotFoundError(path)  # the page is still being created
    if in_memory and not MEMORY_FILE.fullmatch(file.name()):
        raise FileNotFoundError(path)  # the descriptor now refers to another file
    if not in_memory and (status.st_nlink != 1 or status.st_mode & 0o002):
        raise Unfit(path, "others can change it, or it has another name as well")
    page = Page(file, path)
    page.file, page.owner = (status.st_dev, status.st_ino), status.st_uid
    return page


def files(where: Iterable[str]) -> list[str]:
    paths: list[str] = []
    for directory in where:
        try:
            with os.scandir(directory) as entries:
                paths += [entry.path for entry in islice(entries, _NAMES_MOST) if NAME.fullmatch(entry.name)]
        except OSError:
            continue
    return paths


def link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def memory_files(idle: Idle | None = None, everyone: bool = False) -> list[str]:
    """Returns descriptors of processes; none is left once every process that has the page open has ended."""
    paths, user = [], os.geteuid()
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    skipped = idle.skipped(processes) if idle else set()
    for name in processes:
        if name in skipped:
            continue
        directory = f"/proc/{name}/fd"
        try:
            if not everyone and os.stat(f"/proc/{name}").st_uid != user:
                continue
            with os.scandir(directory) as entries:
                numbers = [entry.name for entry in islice(entries, _NAMES_MOST)]
        except OSError:
            continue
        paths += [path for number in numbers
                  if MEMORY_FILE.fullmatch(link(path := f"{directory}/{number}")) and is_makers(path)]
    if idle:
        idle.looked(processes, {path.split("/")[2] for path in paths})
    return paths


def is_makers(path: str) -> bool:
    """True if the descriptor belongs to the page's creator: readers, including this one, open pages read-only."""
    try:
        return bool(os.lstat(path).st_mode & 0o200)
    except OSError:
        return False
