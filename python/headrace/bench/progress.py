"""A progress bar on standard error for long runs; nothing if that is not a terminal."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable


class Progress:
    """`steps`: all remaining steps, by name; steps of one name take about equally long. `limit`: seconds after which no
    step begins. `later`: steps that will probably follow; the caller keeps them up to date."""

    def __init__(self, steps: Iterable[str], limit: float | None = None, clock: Callable[[], float] = time.monotonic):
        self.left = Counter(steps)  # not begun
        self.later: Counter[str] = Counter()
        self.done = 0
        self.took: dict[str, float] = {}  # seconds of the last step of that name: the load may have changed since the first
        self.current: str | None = None
        self.clock, self.limit = clock, limit
        self.start = self.begun = clock()
        self.shown = sys.stderr.isatty()

    def step(self, what: str) -> None:
        """Ends the current step and begins another."""
        self._end()
        self.current = what
        self.left[what] -= 1
        if self.shown:
            width = 30
            filled = width * self.done // self.total
            seconds = self.seconds_left()
            left = "" if seconds is None else f", {_duration(seconds)} left"
            print(f"\r[{'#' * filled}{'.' * (width - filled)}] {self.done}/{self.total}{left} {what:<40.40}", end="",
                  file=sys.stderr, flush=True)

    def skip(self, what: str) -> None:
        """Counts a step that is skipped."""
        self._end()
        self.left[what] -= 1
        self.done += 1

    def add(self, steps: Iterable[str]) -> None:
        self.left.update(steps)

    @property
    def total(self) -> int:
        ahead = sum(count for each in (self.left, self.later) for count in each.values() if count > 0)
        return max(self.done + ahead + (self.current is not None), 1)

    def finish(self) -> None:
        self._end()
        if self.shown:
            print("\r" + " " * 110 + "\r", end="", file=sys.stderr, flush=True)

    def seconds_left(self) -> float | None:
        """Estimates the remaining seconds from the steps so far; a kind of step that has not run yet counts as their
        mean. None at the start."""
        if not self.took:
            return None
        mean = sum(self.took.values()) / len(self.took)
        left = sum(count * self.took.get(what, mean) for each in (self.left, self.later)
                   for what, count in each.items() if count > 0)
        if self.current is not None:
            left += max(0.0, self.took.get(self.current, mean) - (self.clock() - self.begun))
        return left if self.limit is None else max(0.0, min(left, self.start + self.limit - self.clock()))

    def _end(self) -> None:
        now = self.clock()
        if self.current is not None:
            self.took[self.current] = now - self.begun
            self.done += 1
        self.current, self.begun = None, now


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
