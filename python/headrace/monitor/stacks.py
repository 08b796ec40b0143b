"""The stacks of a job's ranks for the page: those that `headrace stack JOB` prints on this host for this user and, through
the collectors that report, on other hosts, read within a bounded time.

Debuggers stop the ranks that they examine, so one job is examined at a time, and only on request.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Protocol

from headrace import counters, stack
from headrace.monitor.model import clean
from headrace.monitor.query import Wrong

_RANK_SECONDS = 10.0
_SECONDS = 60.0  # limit for all ranks together
_ANSWER_SECONDS = 15.0  # further time in which a collector must answer
_RANKS_MOST = 512
_GROUPS_MOST = 64  # maximum number of groups: the smallest ones and the largest
_NOW_MOST = 8  # maximum number of sentences per group
_one = threading.Lock()


@dataclass
class Part:
    """The stacks of the ranks on one host. `problem`: the reason why there are none."""

    size: int = 0  # of the job
    here: int = 0  # number of ranks on the host, including those whose stacks were not read
    stacks: list[stack.Stack] = field(default_factory=list)
    problem: str = ""


class Elsewhere(Protocol):
    """The collectors on other hosts."""

    def ask(self, job: str) -> dict[str, int]:
        """Asks them for the stacks of a job. Returns the number of the request by host."""

    def told(self, asked: dict[str, int], seconds: float, stop: threading.Event | None) -> dict[str, Part]:
        """Returns their answers by host, or the problem of those that have not answered within that time."""


def _group(group: list[stack.Stack]) -> dict:
    first = group[0]
    shown = stack.outside(first.frames)
    now = list(stack.now_of(group).items())
    return {"ranks": stack.short([each.rank for each in group]), "count": len(group), "frames": shown, "inside": first.frames[:len(first.frames) - len(shown)],
            "python": first.python, "threads": first.threads, "why": first.why, "more_now": max(0, len(now) - _NOW_MOST),
            "now": [{"text": said, "ranks": stack.short(ranks)} for said, ranks in now[:_NOW_MOST] if said]}


def few(found: list[list[stack.Stack]]) -> list[list[stack.Stack]]:
    """Returns as many groups as one answer may have."""
    return found if len(found) <= _GROUPS_MOST else [*found[:_GROUPS_MOST - 1], found[-1]]


def read(job: str, everyone: bool = False, stop: threading.Event | None = None) -> Part:
    """Reads the stacks of the job's ranks on this host. `everyone`: also of other users' jobs."""
    pages = [page for page in counters.look(everyone=everyone).pages if clean(page.job_of_owner) == job and page.alive()]
    pages.sort(key=lambda page: page.rank)
    return Part(pages[0].size if pages else 0, len(pages), stack.look_at_all(pages[:_RANKS_MOST], _RANK_SECONDS, _SECONDS, stop))


def stacks(job: str, everyone: bool = False, stop: threading.Event | None = None, elsewhere: Elsewhere | None = None) -> dict:
    """Returns the groups of equal stacks, the smallest first; `missing`: hosts whose ranks are not among them, with the reason. Raises Wrong."""
    if not _one.acquire(blocking=False):
        raise Wrong("stacks are being read already; try again in a moment")
    try:
        begin = time.monotonic()
        asked = elsewhere.ask(job) if elsewhere else {}
        parts = [read(job, everyone, stop)]
        missing = []
        if elsewhere and asked:
            for host, part in elsewhere.told(asked, begin + _SECONDS + _ANSWER_SECONDS - time.monotonic(), stop).items():
                parts.append(part)
                if part.problem:
                    missing.append(f"{host}: {part.problem}")
        here = sum(part.here for part in parts)
        if not here and not missing:
            raise Wrong("no rank of this job runs on the monitor's host, or on one whose collector reports; on the host where one runs: headrace stack")
        found = stack.groups([each for part in parts for each in part.stacks])
        shown = few(found)
        return {"job": job, "size": max(part.size for part in parts), "here": here, "left_out": here - sum(len(part.stacks) for part in parts), "groups_left_out": len(found) - len(shown),
                "missing": missing, "time": time.time(), "seconds": round(time.monotonic() - begin, 2), "groups": [_group(group) for group in shown]}
    finally:
        _one.release()
