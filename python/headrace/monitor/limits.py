"""Limits on the resources of a monitor that strangers can use up: descriptors, and lines of its error output."""

from __future__ import annotations

import contextlib
import resource
import threading
import time
from collections.abc import Callable

_DESCRIPTORS = 1 << 16


def many_descriptors() -> int:
    """Raises the soft limit on open files as far as the hard limit allows, and returns it. Each counter page and each
    connection needs one descriptor."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return wanted
    return soft if soft != resource.RLIM_INFINITY else _DESCRIPTORS


class Seldom:
    """Prints the first of many similar sentences at once, and the number of further ones at most once in `seconds`. Thread-safe."""

    def __init__(self, say: Callable[[str], None], seconds: float = 60.0):
        self._say, self._seconds = say, seconds
        self._lock = threading.Lock()
        self._next = 0.0
        self.count = 0  # number of sentences left out

    def __call__(self, sentence: str) -> None:
        now = time.monotonic()
        with self._lock:
            if now < self._next:
                self.count += 1
                return
            more, self.count, self._next = self.count, 0, now + self._seconds
        self._say(sentence + (f" ({more} more such since the last that was said)" if more else ""))
