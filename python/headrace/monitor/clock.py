"""This process's time: the wall clock's time at the start, and steady from then on, even if the wall clock is set."""

from __future__ import annotations

import time

_JUMP = 0.5  # difference between the two clocks, in seconds, that exceeds drift


def _steady() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)  # continues while the machine sleeps


_START = time.time() - _steady()


def now() -> float:
    """Seconds since the epoch."""
    return _START + _steady()


def from_wall(seconds: float) -> float:
    """Converts a time that another process has just taken from the wall clock."""
    off = now() - time.time()
    return seconds + off if abs(off) > _JUMP else seconds
