"""What the views show, as sums over the history of one job. All of it works on a saved run as well.

`Range` is a stretch of time and some of the ranks. The whole run is answered from totals, which are exact whatever was thinned;
a part of it from the spans that end in it.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from headrace.monitor.model import KINDS, PEERS
from headrace.monitor.schema import CHANGES, SAMPLES

POINTS_MOST = 1500  # of a timeline: more than a screen has columns
RANKS_MOST = 1 << 20
_SUMS = ("calls", "mpi_ns", "wait_ns", "sent", "sent_bytes", "received", "received_bytes")
_GAUGES = ("posted", "unexpected", "unexpected_bytes")


class Wrong(Exception):
    """A question that cannot be answered, with a sentence."""


@dataclass(frozen=True)
class Range:
    job: int
    began: float | None = None
    ended: float | None = None
    ranks: frozenset[int] | None = None

    def whole(self) -> bool:
        return self.began is None and self.ended is None

    def times(self) -> tuple[float, float]:
        return (self.began if self.began is not None else 0.0, self.ended if self.ended is not None else 1e18)

    def has(self, rank: int) -> bool:
        return self.ranks is None or rank in self.ranks


def ranks_of(text: str) -> frozenset[int] | None:
    """"0-3,8" as a set; None of nothing. Raises Wrong."""
    found: set[int] = set()
    for part in text.replace(" ", "").split(","):
        if not part:
            continue
        first, dash, last = part.partition("-")
        try:
            begin, end = int(first), int(last) if dash else int(first)
        except ValueError:
            raise Wrong(f"ranks are numbers and ranges such as 0-3,8; {part[:40]!r} is neither") from None
        if not 0 <= begin <= end < RANKS_MOST:
            raise Wrong(f"ranks are numbers and ranges such as 0-3,8; {part[:40]!r} is no range")
        found.update(range(begin, end + 1))
    return frozenset(found) or None


def jobs(db: sqlite3.Connection) -> list[dict]:
    rows = db.execute("SELECT jobs.id, jobs.key, program, size, began, jobs.seen, jobs.ended, count(ranks.rank), sum(calls), sum(wait_ns), "
                      "sum(mpi_ns), sum(sent), sum(sent_bytes), sum(received_bytes), group_concat(DISTINCT host) "
                      "FROM jobs LEFT JOIN ranks ON ranks.job = jobs.id GROUP BY jobs.id ORDER BY jobs.began DESC, jobs.id DESC LIMIT 500")
    names = ("id", "key", "program", "size", "began", "seen", "ended", "known", "calls", "wait_ns", "mpi_ns", "sent", "sent_bytes",
             "received_bytes", "hosts")
    return [dict(zip(names, row)) for row in rows]


def job_id(db: sqlite3.Connection, word: str) -> int:
    """Of a number or key; the newest of "". Raises Wrong."""
    if word == "":
        row = db.execute("SELECT id FROM jobs ORDER BY ended, began DESC, id DESC LIMIT 1").fetchone()
    else:
        row = db.execute("SELECT id FROM jobs WHERE key = ? OR CAST(id AS TEXT) = ? LIMIT 1", (word, word)).fetchone()
    if row is None:
        raise Wrong(f"there is no job {word[:60]!r} in this history" if word else "there is no job in this history")
    return row[0]


def ranks(db: sqlite3.Connection, part: Range) -> list[dict]:
    """One row a rank: who it is, sums of the range, gauges as they are now."""
    rows = db.execute(f"SELECT rank, pid, host, cpus, gpu, ended, seen, {', '.join(_SUMS + _GAUGES)} FROM ranks WHERE job = ? ORDER BY rank", (part.job,))
    names = ("rank", "pid", "host", "cpus", "gpu", "ended", "seen", *_SUMS, *_GAUGES)
    found = [dict(zip(names, row)) for row in rows if part.has(row[0])]
    began, seen = db.execute("SELECT began, seen FROM jobs WHERE id = ?", (part.job,)).fetchone()
    if part.whole():
        seconds = seen - began
    else:
        sums = {row[0]: row[1:] for row in db.execute(
            f"SELECT rank, {', '.join(f'sum({name})' for name in _SUMS)} FROM samples JOIN spans ON spans.id = span "
            "WHERE job = ? AND what = ? AND spans.ended > ? AND spans.ended <= ? GROUP BY rank", (part.job, SAMPLES, *part.times()))}
        for row in found:
            row.update(zip(_SUMS, sums.get(row["rank"], (0,) * len(_SUMS))))
        seconds = db.execute("SELECT total(ended - began) FROM spans WHERE job = ? AND what = ? AND ended > ? AND ended <= ?",
                             (part.job, SAMPLES, *part.times())).fetchone()[0]
    for row in found:
        row["seconds"] = seconds
    return found


def counters(db: sqlite3.Connection, part: Range, kind: str, by_rank: bool = False) -> list[tuple]:
    """(rank, key, count, bytes, ns) of a kind if `by_rank`, otherwise the same without rank, summed; keys as text or ranks."""
    if kind not in KINDS:
        raise Wrong(f"there is no kind of counter {kind[:40]!r}")
    if part.whole() or kind == "queue":
        source, where, values = "totals", "totals.job = ?", [part.job]
    else:
        source = "changes JOIN spans ON spans.id = span"
        where, values = "spans.job = ? AND what = ? AND spans.ended > ? AND spans.ended <= ?", [part.job, CHANGES, *part.times()]
    # Ranks are chosen here and not in SQL: a set may be longer than a statement takes.
    rows = db.execute(f"SELECT rank, key, sum(count), sum(bytes), sum(ns) FROM {source} WHERE {where} AND kind = ? GROUP BY rank, key",
                      (*values, KINDS[kind]))
    names = {} if kind in PEERS else dict(db.execute("SELECT id, name FROM names"))
    chosen = [(rank, key if kind in PEERS else names.get(key, str(key)), *figures) for rank, key, *figures in rows if part.has(rank)]
    if by_rank:
        return chosen
    sums: dict[object, list[int]] = {}
    for _, key, *figures in chosen:
        sums[key] = [old + new for old, new in zip(sums.get(key, (0, 0, 0)), figures)]
    return [(key, *figures) for key, figures in sums.items()]


def timeline(db: sqlite3.Connection, part: Range) -> dict[str, list]:
    """Columns over time: seconds, shares of waiting (least, mean, most of the ranks), rates, depths, and the slowest rank, which
    is the one that waits least while the others wait for it (None where nobody waits noticeably)."""
    spans = db.execute("SELECT id, began, ended FROM spans WHERE job = ? AND what = ? AND ended > ? AND ended <= ? ORDER BY ended",
                       (part.job, SAMPLES, *part.times())).fetchall()
    step = max(1, -(-len(spans) // POINTS_MOST))
    columns: dict[str, list] = {name: [] for name in ("time", "least", "mean", "most", "mpi", "slowest", "messages", "bytes", *_GAUGES)}
    for first in range(0, len(spans), step):
        _point(db, part, spans[first:first + step], columns)
    return columns


def _point(db: sqlite3.Connection, part: Range, spans: list[tuple[int, float, float]], columns: dict[str, list]) -> None:
    seconds = max(1e-3, sum(ended - began for _, began, ended in spans))
    # Spans of a job that are neighbours in time have ids that need not be; each is looked up by the table's key.
    sums: dict[int, list[int]] = {}
    for span, _, _ in spans:
        for rank, wait, mpi, sent, sent_bytes, *gauges in db.execute(
                "SELECT rank, wait_ns, mpi_ns, sent, sent_bytes, posted, unexpected, unexpected_bytes FROM samples WHERE span = ?", (span,)):
            if not part.has(rank):
                continue
            if (old := sums.get(rank)) is None:
                sums[rank] = [wait, mpi, sent, sent_bytes, *gauges]
            else:
                sums[rank] = [old[0] + wait, old[1] + mpi, old[2] + sent, old[3] + sent_bytes, *map(max, old[4:], gauges)]
    rows = list(sums.values())
    scale = 1 / (seconds * 1e9)
    shares = [min(1.0, row[0] * scale) for row in rows] or [0.0]
    mean = sum(shares) / len(shares)
    slowest = min(sums, key=lambda rank: (sums[rank][0], rank)) if len(sums) > 1 and mean - min(shares) > 0.02 else None
    for name, value in (("time", spans[-1][2]), ("least", min(shares)), ("mean", mean), ("most", max(shares)),
                        ("mpi", min(1.0, sum(row[1] for row in rows) * scale / max(1, len(rows)))), ("slowest", slowest),
                        ("messages", sum(row[2] for row in rows) / seconds), ("bytes", sum(row[3] for row in rows) / seconds),
                        ("posted", sum(row[4] for row in rows)), ("unexpected", sum(row[5] for row in rows)),
                        ("unexpected_bytes", sum(row[6] for row in rows))):
        columns[name].append(round(value, 5) if isinstance(value, float) and name != "time" else value)


def machine(db: sqlite3.Connection, began: float | None, ended: float | None) -> dict[str, dict[str, list]]:
    """{host: {figure: [[times], [values]]}}, thinned to what a screen shows."""
    begin, end = int(began or 0), int(ended if ended is not None else 1 << 60)
    first, last = db.execute("SELECT min(time), max(time) FROM machine WHERE time >= ? AND time <= ?", (begin, end)).fetchone()
    if first is None:
        return {}
    step = max(1, (last - first) // POINTS_MOST + 1)
    found: dict[str, dict[str, list]] = {}
    for when, host, name, value in db.execute(
            "SELECT time, host, name, max(value) FROM machine JOIN names ON names.id = what WHERE time >= ? AND time <= ? "
            "GROUP BY host, what, time / ? ORDER BY time", (first, last, step)):
        times, values = found.setdefault(host, {}).setdefault(name, [[], []])
        times.append(when)
        values.append(value)
    return found
