"""A bar on standard error for runs that take long; nothing where that is no terminal."""

from __future__ import annotations

import sys
import time


class Progress:
    def __init__(self, total: int):
        self.total, self.done, self.start = max(total, 1), 0, time.monotonic()
        self.shown = sys.stderr.isatty()

    def step(self, what: str) -> None:
        """One more piece begins."""
        if self.shown:
            width = 30
            filled = width * self.done // self.total
            passed = time.monotonic() - self.start
            left = f", {passed / self.done * (self.total - self.done):.0f} s left" if self.done else ""
            print(f"\r[{'#' * filled}{'.' * (width - filled)}] {self.done}/{self.total}{left} {what:<40.40}", end="",
                  file=sys.stderr, flush=True)
        self.done += 1

    def finish(self) -> None:
        if self.shown:
            print("\r" + " " * 100 + "\r", end="", file=sys.stderr, flush=True)
