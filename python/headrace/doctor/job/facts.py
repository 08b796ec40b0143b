"""Facts about jobs: their ranks with the contents of their counter pages, of running jobs or from a file (docs/counters.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace import counters
from headrace.doctor.facts import ranges


@dataclass(frozen=True)
class Rank:
    rank: int
    about: dict  # identity: host, pid, program, cores, gpu, ...
    now: counters.Snapshot
    alive: bool  # always True for a file

    @property
    def seconds(self) -> float:
        """Returns the time since MPI_Init, in seconds."""
        return max((self.now.ended or self.now.taken) - self.now.begun, 0.001)

    def count(self, name: str) -> int:
        """Returns the value of a counter; 0 if the page's library lacks it."""
        try:
            return self.now.value(name)
        except KeyError:
            return 0

    def table(self, name: str) -> dict:
        try:
            return self.now.table(name)
        except KeyError:
            return {}

    @property
    def waited(self) -> float:
        """Returns the share of its time that the rank has spent waiting in MPI."""
        return min(self.count("wait.time") / 1e9 / self.seconds, 1.0)


@dataclass(frozen=True)
class Slowest:
    """The rank that holds the others up, by the history of headrace monitor, and the share of the time in which it is the slowest: of an interval of so many
    seconds, or of the whole time."""

    rank: int
    share: float
    seconds: float | None


@dataclass(frozen=True)
class Job:
    name: str
    size: int
    ranks: Sequence[Rank]
    history: bool = False  # `slowest` is known; counters alone do not tell how the waits were distributed over time
    slowest: Slowest | None = None  # None: no single rank


@dataclass(frozen=True)
class JobFacts:
    jobs: Sequence[Job]
    problems: Sequence[str] = ()  # pages that cannot be read


def _jobs(pages: Iterable[counters.Page], running: bool, problems: list[str]) -> list[Job]:
    grouped: dict[str, list[Rank]] = {}
    sizes: dict[str, int] = {}
    for page in pages:
        try:
            now = page.read()
        except counters.Problem as problem:
            problems.append(str(problem))
            continue
        alive = not running or now.state == "finalized" or page.alive()
        grouped.setdefault(page.job_of_owner, []).append(Rank(page.rank, page.about, now, alive))
        sizes[page.job_of_owner] = page.size
    return [Job(name, sizes[name], ranks) for name, ranks in grouped.items()]


def of(what: str) -> JobFacts:
    """Reads the facts of jobs. `what`: a file, the name of a job, or "" for all jobs of this user on this host. Raises counters.Problem or
    OSError."""
    if what and Path(what).is_file():
        return JobFacts(_jobs(counters.load(what), running=False, problems=[]))
    found = counters.look(what or None, everyone=bool(what))
    if what and not found.pages:
        raise counters.Problem(f"{what}: there is no such file, and no such job of this user runs on this host")
    return JobFacts(_jobs(found.pages, True, found.problems), found.problems)


def numbers(ranks: Iterable[int]) -> str:
    """`0-3, 7`"""
    shown = ranges(ranks)
    return ", ".join(shown[:8] + (["..."] if len(shown) > 8 else []))


def ranks_of(numbers_of: Iterable[int]) -> str:
    """`rank 3`, `ranks 0-3, 7`"""
    distinct = set(numbers_of)
    return ("rank " if len(distinct) == 1 else "ranks ") + numbers(distinct)
