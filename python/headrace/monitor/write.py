"""Turns sweeps into rows: the changes since the last written sweep.

The last written state is kept in memory, and read back from the file for a job that is already in it, so sums are
correct however often the monitor restarts.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from itertools import groupby

from headrace.monitor.model import GAUGES, KINDS, PEERS, SUMS, Brief, Count, Origin, Reading, Report, Sweep, clean
from headrace.monitor.points import keep, of_span, point
from headrace.monitor.schema import CHANGES, SAMPLES

_ZERO = Brief()
_NONE = Count()
_RANK_ROW = "INSERT OR REPLACE INTO ranks VALUES (" + ", ".join("?" * 18) + ")"
# A span that is continued has rows already: sums are added to, gauges keep the maximum.
_SAMPLE_ROW = ("INSERT INTO samples VALUES (" + ", ".join("?" * 12) + ") ON CONFLICT(span, rank) DO UPDATE SET "
               + ", ".join(f"{name} = {name} + excluded.{name}" for name in Brief._fields[:SUMS]) + ", "
               + ", ".join(f"{name} = max({name}, excluded.{name})" for name in Brief._fields[SUMS:]))
_CHANGE_ROW = ("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT(span, kind, rank, key) DO UPDATE SET "
               "count = count + excluded.count, bytes = bytes + excluded.bytes, ns = ns + excluded.ns")
_MARKS_MOST = 50_000  # maximum number of marks of a job
_KEYS_MOST = 100_000  # maximum number of names in the file, so that a program cannot make it grow without end


@dataclass
class _Known:
    """The state of a job as last written."""

    id: int
    briefs: dict[int, Brief] = field(default_factory=dict)
    totals: dict[tuple[int, int, int], Count] = field(default_factory=dict)  # (kind, rank, key)
    sampled: float = 0.0
    changed: float = 0.0
    spans: dict[int, tuple[int, float]] = field(default_factory=dict)  # id and begin of the last span that was written, by its kind
    ended: bool = False
    marks: dict[int, int] = field(default_factory=dict)  # number of marks written, by rank
    origin: Origin = Origin()
    reports: dict[int, tuple[Report, ...]] = field(default_factory=dict)  # as last written, by rank


class Writer:
    def __init__(self, db: sqlite3.Connection):
        self.db = db
        self._least = 0.0
        self.forget()

    def forget(self) -> None:
        """Forgets the state after a failed transaction, so that it is read from the file again."""
        self._jobs: dict[str, _Known] = {}
        self._names: dict[str, int] = {name: number for number, name in self.db.execute("SELECT id, name FROM names")}

    def kept(self) -> None:
        """Notes that the last write was committed. Jobs that have ended no longer need their sums."""
        for known in self._jobs.values():
            if known.ended and known.totals:
                known.totals = {}

    def write(self, sweep: Sweep, machine: dict[str, dict[str, float]], least: float = 0.0) -> None:
        """`least`: seconds; a shorter span is continued by the next reading, so that no rate is that of a moment."""
        self._least = least
        by_job = sorted(sweep.readings, key=lambda reading: (reading.rank.job, reading.rank.rank))
        for key, readings in groupby(by_job, key=lambda reading: reading.rank.job):
            self._job(key, list(readings), sweep.time, key in sweep.unseen)
        self._end_others({reading.rank.job for reading in sweep.readings} | sweep.unseen)
        self.db.executemany("INSERT OR REPLACE INTO machine VALUES (?, ?, ?, ?)", [
            (int(sweep.time), host, self._name(what), value) for host, figures in machine.items() for what, value in figures.items()])

    def _end_others(self, there: set[str]) -> None:
        """Marks jobs that ended while no monitor was running."""
        for number, key in self.db.execute("SELECT id, key FROM jobs WHERE NOT ended").fetchall():
            if key not in there:
                self.db.execute("UPDATE jobs SET ended = 1 WHERE id = ?", (number,))
                self.db.execute("UPDATE ranks SET ended = 1, posted = 0, unexpected = 0, unexpected_bytes = 0 WHERE job = ?", (number,))
                self._jobs.pop(key, None)

    def _name(self, text: str) -> int:
        found = self._names.get(text)
        if found is None:
            text = clean(text) if len(self._names) < _KEYS_MOST else "other"
            self.db.execute("INSERT OR IGNORE INTO names(name) VALUES (?)", (text,))
            found = self._names[text] = self.db.execute("SELECT id FROM names WHERE name = ?", (text,)).fetchone()[0]
        return found

    def _job(self, key: str, readings: list[Reading], now: float, unseen: bool) -> None:
        """`unseen`: other ranks of the job may still run."""
        known = self._jobs.get(key) or self._meet(key, readings)
        if known.ended:
            if all(reading.ended and reading.brief == known.briefs.get(reading.rank.rank) for reading in readings):
                return
            known = self._meet(key, readings)  # these are ranks of another host, unknown until now
            known.ended = False
        self._origin(known, readings)
        self._samples(known, readings, now)
        self.db.executemany("INSERT OR IGNORE INTO deaths VALUES (?, ?, ?)", [(known.id, reading.rank.rank, now) for reading in readings if reading.died])
        if any(reading.details is not None for reading in readings):
            self._changes(known, readings, now)
            self._marks(known, readings)
            self._reports(known, readings)
            # The details of an ended job are read a last time before it counts as ended.
            known.ended = not unseen and all(reading.ended for reading in readings)
        self.db.execute("UPDATE jobs SET seen = ?, ended = ? WHERE id = ?", (now, known.ended, known.id))

    def _origin(self, known: _Known, readings: list[Reading]) -> None:
        """Keeps the first text of each kind that a rank reports; ranks of other hosts may report more."""
        if all(known.origin):
            return
        found = list(known.origin)
        for origin in {reading.rank.origin: None for reading in readings}:
            found = [old or new for old, new in zip(found, origin)]
        if tuple(found) != known.origin:
            known.origin = Origin(*found)
            self.db.execute("INSERT OR REPLACE INTO origins VALUES (?, ?, ?, ?, ?, ?)", (known.id, *known.origin))

    def _marks(self, known: _Known, readings: list[Reading]) -> None:
        rows = []
        for reading in readings:
            rank = reading.rank.rank
            have = known.marks.get(rank, 0)
            fresh = [mark for mark in reading.marks if mark.number >= have]
            if fresh:
                known.marks[rank] = fresh[-1].number + 1
                rows += [(known.id, rank, *mark) for mark in fresh]
        if not rows:
            return
        self.db.executemany("INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?, ?)", rows)
        count = self.db.execute("SELECT count(*) FROM marks WHERE job = ?", (known.id,)).fetchone()[0]
        if count > _MARKS_MOST:  # the oldest are dropped
            last = self.db.execute("SELECT time FROM marks WHERE job = ? ORDER BY time LIMIT 1 OFFSET ?", (known.id, count - _MARKS_MOST * 3 // 4)).fetchone()[0]
            self.db.execute("DELETE FROM marks WHERE job = ? AND time < ?", (known.id, last))

    def _reports(self, known: _Known, readings: list[Reading]) -> None:
        for reading in readings:
            rank = reading.rank.rank
            if reading.reports and reading.reports != known.reports.get(rank):
                known.reports[rank] = reading.reports
                self.db.executemany("INSERT OR REPLACE INTO reports VALUES (?, ?, ?, ?, ?, ?)", [(known.id, rank, *report) for report in reading.reports])

    def _meet(self, key: str, readings: list[Reading]) -> _Known:
        first = readings[0].rank  # a source has cleaned its names
        began = min(reading.rank.began for reading in readings)
        self.db.execute("INSERT OR IGNORE INTO jobs(key, program, size, began, seen) VALUES (?, ?, ?, ?, ?)",
                        (key, first.program, first.size, began, began))
        number, seen, ended = self.db.execute("SELECT id, seen, ended FROM jobs WHERE key = ?", (key,)).fetchone()
        known = self._jobs[key] = _Known(number, sampled=seen, changed=seen, ended=bool(ended) and all(reading.ended for reading in readings))
        for rank, *figures in self.db.execute("SELECT rank, calls, mpi_ns, wait_ns, sent, sent_bytes, received, received_bytes, posted, "
                                              "unexpected, unexpected_bytes FROM ranks WHERE job = ?", (number,)):
            known.briefs[rank] = Brief(*figures)
        for kind, rank, name, *figures in self.db.execute("SELECT kind, rank, key, count, bytes, ns FROM totals WHERE job = ?", (number,)):
            known.totals[kind, rank, name] = Count(*figures)
        if said := self.db.execute("SELECT user, command, batch, batch_job, batch_name FROM origins WHERE job = ?", (number,)).fetchone():
            known.origin = Origin(*said)
        known.marks = {rank: number + 1 for rank, number in self.db.execute("SELECT rank, max(number) FROM marks WHERE job = ? GROUP BY rank", (number,))}
        last = self.db.execute("SELECT max(ended) FROM spans WHERE job = ? AND what = ?", (number, CHANGES)).fetchone()[0]
        known.changed = last or began
        return known

    def _span(self, known: _Known, what: int, began: float, now: float) -> tuple[int, float]:
        """Returns the span that ends now, and its begin: a new one, or the last one, if that or the new one were too short."""
        span, first = known.spans.get(what, (0, 0.0))
        if span and 0 <= min(now - began, began - first) < self._least and self.db.execute("UPDATE spans SET ended = ? WHERE id = ? AND level = 0", (now, span)).rowcount:
            return span, first
        first = min(began, now)
        span = self.db.execute("INSERT INTO spans(job, what, level, began, ended) VALUES (?, ?, 0, ?, ?)", (known.id, what, first, now)).lastrowid
        known.spans[what] = span, first
        return span, first

    def _samples(self, known: _Known, readings: list[Reading], now: float) -> None:
        span, began = self._span(known, SAMPLES, known.sampled, now)
        rows, states = [], []
        for reading in readings:
            who, brief = reading.rank, reading.brief
            before = known.briefs.get(who.rank, _ZERO)
            sums = [after - old if after > old else 0 for after, old in zip(brief[:SUMS], before)]
            if not reading.ended or any(sums):
                rows.append((span, who.rank, *sums, *brief[SUMS:]))
            known.briefs[who.rank] = brief
            states.append((known.id, who.rank, who.pid, who.host, who.cpus, who.gpu, now, reading.ended, *brief))
        self.db.executemany(_SAMPLE_ROW, rows)
        keep(self.db, span, of_span(self.db, span, now - began) if began < known.sampled else point([(row[1], row[4], row[3], row[5], row[6], *row[9:]) for row in rows], now - began))
        self.db.executemany(_RANK_ROW, states)
        known.sampled = now

    def _changes(self, known: _Known, readings: list[Reading], now: float) -> None:
        span, _ = self._span(known, CHANGES, known.changed, now)
        changes, totals = [], []
        for reading in readings:
            for kind, counters in (reading.details or {}).items():
                number, gauge, peers = KINDS[kind], kind in GAUGES, kind in PEERS
                for name, counter in counters.items():
                    place = (number, reading.rank.rank, int(name) if peers else self._name(name))
                    before = known.totals.get(place, _NONE)
                    if counter == before:
                        continue
                    known.totals[place] = counter
                    totals.append((known.id, *place, *counter))
                    if not gauge:
                        changes.append((span, *place, *(max(0, after - old) for after, old in zip(counter, before))))
        self.db.executemany(_CHANGE_ROW, changes)
        self.db.executemany("INSERT OR REPLACE INTO totals VALUES (?, ?, ?, ?, ?, ?, ?)", totals)
        known.changed = now
