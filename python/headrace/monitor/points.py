"""One point of a job's timeline: the activity of all its ranks in a span, combined."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from typing import NamedTuple

_NOTICEABLE = 0.02  # minimum mean extra wait of the others, as a share of the time, if one rank holds them up


class Point(NamedTuple):
    least: float  # minimum share of the time that a rank waits
    mean: float
    most: float
    mpi: float  # mean share of the time inside MPI calls
    slowest: int | None  # the rank that waits least while the others wait; None if all are alike
    messages: int
    bytes: int
    posted: int
    unexpected: int
    unexpected_bytes: int


def point(rows: Iterable[tuple[int, ...]], seconds: float) -> Point:
    """Combines rows (rank, wait_ns, mpi_ns, sent, sent_bytes, posted, unexpected, unexpected_bytes), one per rank."""
    rows = list(rows)
    if not rows:
        return Point(0.0, 0.0, 0.0, 0.0, None, 0, 0, 0, 0, 0)
    scale = 1 / (max(1e-3, seconds) * 1e9)
    ranks, waits, mpi, *sums = zip(*rows)
    shares = [min(1.0, wait * scale) for wait in waits]
    inside = [min(1.0, max(time * scale, wait)) for time, wait in zip(mpi, shares)]  # even a pending wait is part of a call
    least, mean = min(shares), sum(shares) / len(rows)
    slowest = ranks[shares.index(least)] if mean - least > _NOTICEABLE else None
    return Point(round(least, 5), round(mean, 5), round(max(shares), 5), round(sum(inside) / len(rows), 5), slowest,
                 *map(sum, sums))


def of_span(db: sqlite3.Connection, span: int, seconds: float, has: Callable[[int], bool] | None = None) -> Point:
    rows = db.execute("SELECT rank, wait_ns, mpi_ns, sent, sent_bytes, posted, unexpected, unexpected_bytes FROM samples WHERE span = ?", (span,))
    return point((row for row in rows if has is None or has(row[0])), seconds)


def keep(db: sqlite3.Connection, span: int, what: Point) -> None:
    db.execute("INSERT OR REPLACE INTO points VALUES (" + ", ".join("?" * 11) + ")", (span, *what))
