"""The history becomes coarser as it ages: spans that are old enough for their level are merged into one of the next
level."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from headrace.monitor import points
from headrace.monitor.schema import CHANGES, SAMPLES

_SPANS_MOST = 60  # maximum new spans of a job and level per call, so that no call takes long


@dataclass(frozen=True)
class Limits:
    """For each level, from the finest: the age up to which its spans are kept, and the seconds of a span of the next level."""

    samples: tuple[tuple[float, float], ...] = ((600, 10), (3 * 3600, 60), (2 * 86400, 600))
    changes: tuple[tuple[float, float], ...] = ((300, 60), (2 * 3600, 600), (2 * 86400, 3600))
    machine: tuple[float, float] = (86400, 60)  # age in seconds, and seconds for each value kept after it


_SUM = {
    # Sums are added up; gauges keep the maximum.
    "samples": ("INSERT INTO samples SELECT ?, rank, sum(calls), sum(mpi_ns), sum(wait_ns), sum(sent), sum(sent_bytes), sum(received), "
                "sum(received_bytes), max(posted), max(unexpected), max(unexpected_bytes) FROM samples WHERE span IN ({}) GROUP BY rank"),
    "changes": ("INSERT INTO changes SELECT ?, kind, rank, key, sum(count), sum(bytes), sum(ns) FROM changes WHERE span IN ({}) "
                "GROUP BY kind, rank, key"),
}


def thin(db: sqlite3.Connection, now: float, limits: Limits) -> None:
    """Runs one round, within the caller's transaction."""
    for (job,) in db.execute("SELECT id FROM jobs").fetchall():
        for what, table, levels in ((SAMPLES, "samples", limits.samples), (CHANGES, "changes", limits.changes)):
            for level, (age, seconds) in enumerate(levels):
                _level(db, job, what, table, level, now - age, seconds)
    age, seconds = limits.machine
    db.execute("DELETE FROM machine WHERE time < ? AND time % ? != 0", (now - age, int(seconds)))


def _level(db: sqlite3.Connection, job: int, what: int, table: str, level: int, before: float, seconds: float) -> None:
    end = before // seconds * seconds  # whole buckets only
    found = db.execute("SELECT id, began, ended FROM spans WHERE job = ? AND what = ? AND level = ? AND ended <= ? ORDER BY began LIMIT ?",
                       (job, what, level, end, int(_SPANS_MOST * seconds))).fetchall()
    buckets: dict[int, list[tuple[int, float, float]]] = {}
    for span in found:
        buckets.setdefault(int((span[1] + span[2]) / 2 // seconds), []).append(span)
    for _, spans in sorted(buckets.items())[:_SPANS_MOST]:
        _join(db, job, what, table, level, spans)


def _join(db: sqlite3.Connection, job: int, what: int, table: str, level: int, spans: list[tuple[int, float, float]]) -> None:
    ids = [span[0] for span in spans]
    if len(ids) == 1:
        db.execute("UPDATE spans SET level = ? WHERE id = ?", (level + 1, ids[0]))
        return
    new = db.execute("INSERT INTO spans(job, what, level, began, ended) VALUES (?, ?, ?, ?, ?)",
                     (job, what, level + 1, min(span[1] for span in spans), max(span[2] for span in spans))).lastrowid
    marks = ", ".join("?" * len(ids))
    db.execute(_SUM[table].format(marks), (new, *ids))
    if what == SAMPLES:
        points.keep(db, new, points.of_span(db, new, sum(span[2] - span[1] for span in spans)))
        db.execute(f"DELETE FROM points WHERE span IN ({marks})", ids)
    db.execute(f"DELETE FROM {table} WHERE span IN ({marks})", ids)
    db.execute(f"DELETE FROM spans WHERE id IN ({marks})", ids)
