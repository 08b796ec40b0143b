"""Parts after a page: counts of threads and channels, which a reader adds to the counters of the page."""

from __future__ import annotations

from array import array
from itertools import repeat
from operator import add, and_

_WORD = (1 << 64) - 1


class Parts:
    """The description of a page's parts (docs/counters.md), which has been checked."""

    def __init__(self, said: dict):
        self.at: int = said["at"]
        self._stride: int = said["stride"]
        self._sums = [self._slices(each) for each in said["sum"]]
        self._most = [self._slices(each) for each in said["most"]]
        self._now = self._slices(said["now"])

    @staticmethod
    def _slices(range_: list[int]) -> tuple[slice, slice]:
        """Returns the words of a range in a part and in the page."""
        in_part, in_page, count, part_stride, page_stride = (value // 8 if place != 2 else value for place, value in enumerate(range_))
        return (slice(in_part, in_part + part_stride * (count - 1) + 1, part_stride),
                slice(in_page, in_page + page_stride * (count - 1) + 1, page_stride))

    def added(self, page: memoryview, behind: bytes) -> memoryview:
        """Returns the words of a page plus those of the parts in `behind`, which follow the page. Levels may wrap
        around below 0 in between."""
        words = array("Q", page)
        parts = memoryview(behind[:len(behind) // self._stride * self._stride]).cast("Q")
        for first in range(0, len(parts), self._stride // 8):
            part = parts[first:first + self._stride // 8].tolist()
            for here, there in self._sums:
                values = part[here]
                if any(values):
                    words[there] = array("Q", map(and_, map(add, words[there], values), repeat(_WORD)))
            for here, there in self._most:
                words[there] = array("Q", map(max, words[there], part[here]))
            self._take_now(words, part)
        return memoryview(words)

    def _take_now(self, words: array, part: list[int]) -> None:
        """Prefers the activity that has waited longest, then any."""
        here, there = self._now
        function, since, process = part[here]
        known, known_since, _ = words[there]
        if (since and (not known_since or since < known_since)) or (function and not known):
            words[there] = array("Q", (function, since, process))
