"""How long calls took: quantiles over calls, from their numbers by class of duration.

A class ends where the next one begins, at twice its beginning, so a quantile is between half and twice the true one; within a class, calls
are taken as spread evenly on a logarithmic scale. Short calls that the library has not counted by duration yet (docs/counters.md) count as
the shortest ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

_SHORT = 8192  # nanoseconds: a call that is not counted by duration takes less
_FIRST = 64  # nanoseconds: the end of the class that begins at 0

Classes = dict[int, int]  # calls by the beginning of their class, in nanoseconds


def split(key: str) -> tuple[str, int] | None:
    """Returns the function and the beginning of the class of a key such as "MPI_Recv 1024-2047"; None if it is none."""
    function, _, label = key.rpartition(" ")
    begin = label.partition("-")[0]
    return (function, int(begin)) if function and begin.isascii() and begin.isdecimal() and len(begin) < 16 else None


def by_function(counts: Iterable[tuple[str, int]]) -> dict[str, Classes]:
    """Sorts calls by key into functions."""
    found: dict[str, Classes] = {}
    for key, count in counts:
        if place := split(key):
            classes = found.setdefault(place[0], {})
            classes[place[1]] = classes.get(place[1], 0) + count
    return found


def whole(classes: Classes, calls: int) -> Classes:
    """Adds the calls that are not counted by duration yet to the shortest class. Empty if no call is counted."""
    found = {begin: count for begin, count in sorted(classes.items()) if count > 0}
    if found and (rest := calls - sum(found.values())) > 0:
        first = next(iter(found))
        begin = first if first < _SHORT else 0
        found = {begin: rest + found.pop(begin, 0), **found}
    return found


def quantile(classes: Classes, share: float) -> float | None:
    """Returns the nanoseconds that this share of the calls does not exceed. `classes`: of whole()."""
    total = sum(classes.values())
    if not total:
        return None
    wanted, below, begin = share * total, 0, 0
    for begin, count in classes.items():
        if below + count >= wanted:
            within = (wanted - below) / count
            return begin * math.exp2(within) if begin else _FIRST * within
        below += count
    return 2.0 * begin
