"""The stacks of a job's ranks for the page: those that `headrace stack JOB` prints on this host for this user, read
within a bounded time.

Debuggers stop the ranks that they examine, so one job is examined at a time, and only on request. """

from __future__ import annotations

import threading
import time

from headrace import counters, stack
from headrace.monitor.model import clean
from headrace.monitor.query import Wrong

_RANK_SECONDS = 10.0
_SECONDS = 60.0  # limit for all ranks together
_RANKS_MOST = 512
_GROUPS_MOST = 64  # maximum number of groups: the smallest ones and the largest
_NOW_MOST = 8  # maximum number of sentences per group
_one = threading.Lock()


def _group(group: list[stack.Stack]) -> dict:
    first = group[0]
    shown = stack.outside(first.frames)
    now = list(stack.now_of(group).items())
    return {"ranks": stack.short([each.rank for each in group]), "count": len(group), "frames": shown, "inside": first.frames[:len(first.frames) - len(shown)],
            "python": first.python, "threads": first.threads, "why": first.why, "more_now": max(0, len(now) - _NOW_MOST),
            "now": [{"text": said, "ranks": stack.short(ranks)} for said, ranks in now[:_NOW_MOST] if said]}


def stacks(job: str, everyone: bool = False, stop: threading.Event | None = None) -> dict:
    """Returns the groups of equal stacks, the smallest first. `everyone`: also of other users' jobs. Raises Wrong."""
    if not _one.acquire(blocking=False):
        raise Wrong("stacks are being read already; try again in a moment")
    try:
        begin = time.monotonic()
        pages = [page for page in counters.look(everyone=everyone).pages if clean(page.job_of_owner) == job and page.alive()]
        if not pages:
            raise Wrong("no rank of this job runs on the monitor's host; on the host where one runs: headrace stack")
        pages.sort(key=lambda page: page.rank)
        found = stack.groups(stack.look_at_all(pages[:_RANKS_MOST], _RANK_SECONDS, _SECONDS, stop))
        shown = found if len(found) <= _GROUPS_MOST else [*found[:_GROUPS_MOST - 1], found[-1]]
        return {"job": job, "size": pages[0].size, "here": len(pages), "left_out": max(0, len(pages) - _RANKS_MOST), "groups_left_out": len(found) - len(shown),
                "time": time.time(), "seconds": round(time.monotonic() - begin, 2), "groups": [_group(group) for group in shown]}
    finally:
        _one.release()
