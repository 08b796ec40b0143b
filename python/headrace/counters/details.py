"""Details behind a page: how long calls took, and reports of the checker. They are read only on request."""

from __future__ import annotations

import struct
import sys
from typing import NamedTuple

_ROWS_MOST = 1024
_CLASSES_MOST = 64
_SHORTEST_MOST = 1 << 20  # nanoseconds
_REPORTS_MOST = 64
_STRIDE_MOST = 4096
_TIMES = struct.Struct("=QQ")


class Report(NamedTuple):
    """A report of the checker."""

    time: float  # of the first one with this text; seconds since 1970
    times: int
    text: str


def _number(said: dict, name: str, least: int, most: int) -> int:
    value = said[name]
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} is no number from {least} to {most}")
    return value


def _place(said: dict, name: str, bytes_: int, begin: int, end: int) -> int:
    at = _number(said, name, 0, 1 << 40)
    if at % 8 or not begin <= at or at + bytes_ > end:
        raise ValueError(f"{name} of the details lies outside")
    return at


class Durations:
    """The description of the durations of calls (docs/counters.md), checked."""

    def __init__(self, said: dict, begin: int, end: int):
        """`begin`, `end`: the bytes in which they must lie. Raises ValueError, KeyError, TypeError."""
        self._rows, self._classes = _number(said, "rows", 1, _ROWS_MOST), _number(said, "classes", 2, _CLASSES_MOST)
        shortest = _number(said, "shortest", 1, _SHORTEST_MOST)
        self._functions_at = _place(said, "functions", 8 * self._rows, begin, end)
        self._at = _place(said, "at", 8 * self._rows * self._classes, begin, end)
        bounds = [0, *(shortest << number for number in range(self._classes - 1))]
        self._labels = [f"{bound}-{above - 1}" for bound, above in zip(bounds, bounds[1:])] + [f"{bounds[-1]}-"]

    def read(self, part, names: list) -> dict[str, dict[str, int]]:
        """Returns the numbers of calls by function and by class in nanoseconds. `part`: reads bytes, `names`: functions by number."""
        raw = part(self._functions_at, 8 * self._rows), part(self._at, 8 * self._rows * self._classes)
        if len(raw[0]) < 8 * self._rows or len(raw[1]) < 8 * self._rows * self._classes:
            return {}
        functions, counts = (memoryview(each).cast("Q").tolist() for each in raw)
        found: dict[str, dict[str, int]] = {}
        for row, number in enumerate(functions):
            values = counts[row * self._classes:(row + 1) * self._classes]
            if not 0 < number < len(names) or not any(values):
                continue
            known = found.setdefault(str(names[number]), {})
            for label, value in zip(self._labels, values):
                if value:
                    known[label] = known.get(label, 0) + value
        return found


class Reports:
    """The description of the checker's reports, checked."""

    def __init__(self, said: dict, begin: int, end: int):
        """As for Durations."""
        self._length, self._stride = _number(said, "length", 1, _REPORTS_MOST), _number(said, "stride", 24, _STRIDE_MOST)
        if self._stride % 8:
            raise ValueError("stride is no multiple of 8")
        self._at = _place(said, "at", self._length * self._stride, begin, end)
        self._all_at, self._kept_at = (_place(said, name, 8, begin, end) for name in ("all", "kept"))

    def read(self, part) -> tuple[int, list[Report]]:
        """Returns the number of all reports, and those that differ, the first ones of them."""
        numbers = [part(at, 8) for at in (self._all_at, self._kept_at)]
        if any(len(each) < 8 for each in numbers):
            return 0, []
        count, kept = (int.from_bytes(each, sys.byteorder) for each in numbers)
        kept = min(kept, self._length)
        raw = part(self._at, kept * self._stride) if kept else b""
        found = []
        for at in range(0, len(raw) - self._stride + 1, self._stride):
            time, times = _TIMES.unpack_from(raw, at)
            text = raw[at + _TIMES.size:at + self._stride].split(b"\0", 1)[0].decode(errors="replace")
            found.append(Report(time / 1e9, times, "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)))
        return count, found
