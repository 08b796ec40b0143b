"""The findings of `headrace doctor --job` for a job in the history: they cover any time range and all hosts, also for a
run that has ended or was saved. The checks are those of the doctor, applied to facts from the history instead of
counter pages."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from headrace.doctor.check import run_all
from headrace.doctor.finding import LEVELS
from headrace.doctor.job import CHECKS
from headrace.doctor.job.facts import Job, JobFacts, Rank, Slowest
from headrace.monitor import query
from headrace.monitor.query import Range
from headrace.monitor.schema import SAMPLES

_BYTES, _NS = 1, 2
# The doctor's tables, and where the history stores their data: kind, prefix of the key, figure.
_TABLES = {"peer.wait": ("waited_for", "", _NS), "peer.messages": ("sent_to", "", 0), "peer.bytes": ("sent_to", "", _BYTES),
           "received.bytes": ("protocol", "", _BYTES), "received.memory_bytes": ("memory", "received ", _BYTES)}


@dataclass(frozen=True)
class Kept:
    """The history's data on a rank, with the part of the interface of counters.Snapshot that the doctor uses."""

    begun: float
    taken: float
    values: Mapping[str, int]
    tables: Mapping[str, Mapping]
    ended: float | None = None
    state: str = "running"

    def value(self, name: str) -> int:
        return self.values[name]

    def table(self, name: str) -> Mapping:
        return self.tables[name]


def facts(db: sqlite3.Connection, part: Range) -> JobFacts:
    """Returns the doctor's facts about the job, its ranks and its time in `part`."""
    key, size, program, began = db.execute("SELECT key, size, program, began FROM jobs WHERE id = ?", (part.job,)).fetchone()
    values: dict[int, dict[str, int]] = defaultdict(dict)
    tables: dict[int, dict[str, dict]] = defaultdict(lambda: defaultdict(dict))
    for name, (kind, prefix, place) in _TABLES.items():
        for rank, label, *figures in query.counters(db, part, kind, by_rank=True):
            if figures[place] and str(label).startswith(prefix):
                tables[rank][name][label[len(prefix):] if prefix else label] = figures[place]
    for rank, label, count, *_ in query.counters(db, part, "library", by_rank=True):
        values[rank][f"library.{label}"] = count
    for rank, label, _, most, _ in query.counters(db, part, "queue", by_rank=True):
        values[rank][f"{label}.most"] = most
    for rank, most in db.execute("SELECT rank, max(unexpected_bytes) FROM samples JOIN spans ON spans.id = span "
                                 "WHERE job = ? AND what = ? AND spans.ended > ? AND spans.ended <= ? GROUP BY rank", (part.job, SAMPLES, *part.times())):
        values[rank]["unexpected.most_bytes"] = most
    ranks = []
    for row in query.ranks(db, part):
        number = row["rank"]
        values[number]["wait.time"] = row["wait_ns"]
        about = {"host": row["host"], "pid": row["pid"], "program": program, "cores": row["cpus"], "gpus": row["gpu"]}
        ranks.append(Rank(number, about, Kept(began, began + row["seconds"], values[number], tables[number]), True))
    return JobFacts([Job(key, size, ranks, True, _slowest(db, part))] if ranks else [])


def _slowest(db: sqlite3.Connection, part: Range) -> Slowest | None:
    """Returns the rank that the page names, so that both agree."""
    found = query.slowest(db, part)
    if found["rank"] is None:
        return None
    return Slowest(found["rank"], found["share"], found["until"] - found["since"] if "since" in found else None)


def findings(db: sqlite3.Connection, part: Range) -> list[dict]:
    """Returns the doctor's findings, the worst first."""
    found = [{**asdict(finding), "check": check.name} for check, each in run_all(CHECKS, facts(db, part)) for finding in each]
    return sorted(found, key=lambda finding: -LEVELS.index(finding["level"]))
