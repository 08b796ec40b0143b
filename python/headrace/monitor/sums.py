"""Sums over the ranks of a node, or of the whole cluster: MPI functions, messages and collectives by size, communication buffers, and files by job.

They are made from the same rows as the views of a job, so they cover the jobs that this monitor sees, and the chosen time, or the last minute before
its end. In a long time with many ranks, only some samples are read, evenly spread; the sums are then estimates, and the answer says so.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from headrace.monitor.cluster import means, window
from headrace.monitor.model import KINDS, Origin
from headrace.monitor.query import has
from headrace.monitor.schema import CHANGES

_JOBS_MOST = 500
_RANK_SPANS_MOST = 40_000  # limit of ranks times samples that are read in one answer
_FUNCTIONS_MOST = 60
_SIZES_MOST = 200
_FILES_MOST = 100  # limit of the jobs in the list of files
_SUMMED = ("call", "size", "operation", "file")


@dataclass
class _Of:
    """The sums of one job's ranks on the chosen host, or on all."""

    key: str
    ranks: int
    seconds: float  # that the samples cover
    sums: dict[str, dict[str, tuple[float, float, float]]] = field(default_factory=dict)  # count, bytes, ns by kind and name


def _jobs(db: sqlite3.Connection, begin: float, end: float, host: str) -> list[tuple[int, str, int, int, int]]:
    """Returns id, key, number of ranks there, and the lowest and highest of these, of the jobs that ran in that time, the newest first."""
    chosen = ("AND host = ?", (host,)) if host else ("", ())
    return db.execute("SELECT jobs.id, jobs.key, count(*), min(rank), max(rank) FROM jobs JOIN ranks ON ranks.job = jobs.id WHERE jobs.began <= ? AND jobs.seen >= ? "
                      f"{chosen[0]} GROUP BY jobs.id ORDER BY jobs.seen DESC LIMIT {_JOBS_MOST}", (end, begin, *chosen[1])).fetchall()


def _of_job(db: sqlite3.Connection, job: tuple[int, str, int, int, int], begin: float, end: float, host: str, most: int) -> tuple[_Of, bool]:
    """Returns the job's sums in that time, and True if they are estimates from `most` of its samples."""
    number, key, ranks, first, last = job
    spans = db.execute("SELECT id, began, ended FROM spans WHERE job = ? AND what = ? AND ended > ? AND ended <= ? ORDER BY ended", (number, CHANGES, begin, end)).fetchall()
    seconds = sum(ended - began for _, began, ended in spans)
    step = -(-len(spans) // max(1, most)) or 1
    read = spans[::-step]
    scale = seconds / max(1e-9, sum(ended - began for _, began, ended in read)) if step > 1 else 1.0
    found = _Of(key, ranks, seconds)
    names = dict(db.execute("SELECT id, name FROM names")) if read else {}
    kinds = {KINDS[kind]: kind for kind in _SUMMED}
    among = ("AND rank BETWEEN ? AND ? AND rank IN (SELECT rank FROM ranks WHERE job = ? AND host = ?)", (first, last, number, host)) if host else ("", ())
    for kind, name, *figures in db.execute(f"SELECT kind, key, sum(count), sum(bytes), sum(ns) FROM changes WHERE span IN ({', '.join(str(span) for span, _, _ in read)}) "
                                           f"AND kind IN ({', '.join(map(str, kinds))}) {among[0]} GROUP BY kind, key", among[1]):
        found.sums.setdefault(kinds[kind], {})[names.get(name, str(name))] = tuple(value * scale for value in figures)
    return found, step > 1


def _functions(jobs: list[_Of]) -> list[dict]:
    """Returns the functions by time, with the job that spends most of it."""
    found: dict[str, dict] = {}
    for job in jobs:
        for name, (count, size, ns) in job.sums.get("call", {}).items():
            row = found.setdefault(name, {"name": name, "count": 0, "bytes": 0, "ns": 0, "job": job.key, "most": -1.0, "jobs": 0})
            row["count"], row["bytes"], row["ns"], row["jobs"] = row["count"] + round(count), row["bytes"] + round(size), row["ns"] + round(ns), row["jobs"] + 1
            if ns > row["most"]:
                row["job"], row["most"] = job.key, ns
    rows = sorted(found.values(), key=lambda row: (-row["ns"], -row["count"], row["name"]))
    return [{**row, "most": round(row["most"])} for row in rows[:_FUNCTIONS_MOST]]


def _counted(jobs: list[_Of], kind: str) -> list[dict]:
    found: dict[str, int] = {}
    for job in jobs:
        for name, (count, _, _) in job.sums.get(kind, {}).items():
            found[name] = found.get(name, 0) + round(count)
    return [{"name": name, "count": count} for name, count in sorted(found.items(), key=lambda item: -item[1])[:_SIZES_MOST] if count]


def _buffers(db: sqlite3.Connection, jobs: list[tuple[int, str, int, int, int]], host: str) -> list[dict]:
    """Returns the memory of communication buffers of running ranks now, by the part of the library that keeps them, and the most in one process."""
    names, found = dict(db.execute("SELECT id, name FROM names")), {}
    for number, *_ in jobs:
        among = ("AND ranks.host = ?", (host,)) if host else ("", ())
        for name, now, most, count in db.execute("SELECT key, sum(count), max(bytes), count(*) FROM totals JOIN ranks ON ranks.job = totals.job AND ranks.rank = totals.rank "
                                                 f"WHERE totals.job = ? AND kind = ? AND NOT ranks.ended {among[0]} GROUP BY key", (number, KINDS["buffer"], *among[1])):
            row = found.setdefault(names.get(name, str(name)), {"name": names.get(name, str(name)), "bytes": 0, "most": 0, "ranks": 0})
            row["bytes"], row["most"], row["ranks"] = row["bytes"] + now, max(row["most"], most), row["ranks"] + count
    return sorted(found.values(), key=lambda row: (-row["bytes"], row["name"]))


def _files(db: sqlite3.Connection, jobs: list[_Of]) -> list[dict]:
    """Returns bytes per second that the processes of each job read and wrote, those with most first."""
    origins = {key: Origin(*said) for key, *said in db.execute("SELECT jobs.key, user, command, batch, batch_job, batch_name FROM origins JOIN jobs ON jobs.id = origins.job")} if has(db, "origins") else {}
    ids = dict(db.execute("SELECT key, id FROM jobs"))
    rows = []
    for job in jobs:
        if (moved := job.sums.get("file")) and job.seconds > 0:
            origin = origins.get(job.key, Origin())
            rates = {name: round(moved.get(said, (0, 0, 0))[1] / job.seconds) for name, said in (("read", "read"), ("written", "written"), ("from_storage", "read from storage"), ("to_storage", "written to storage"))}
            rows.append({"id": ids[job.key], "job": job.key, "user": origin.user, "batch": f"{origin.batch} {origin.batch_job}".strip(), "ranks": job.ranks, **rates})
    return sorted(rows, key=lambda row: (-(row["from_storage"] + row["to_storage"]), -(row["read"] + row["written"]), row["job"]))[:_FILES_MOST]


def _lustre(db: sqlite3.Connection, begin: float, end: float, host: str) -> list[dict]:
    """Returns bytes per second of each Lustre file system, as counted by its mounts."""
    found: dict[str, dict] = {}
    for figures in means(db, begin, end, host, ("lustre.*",)).values():
        for what, (mean, _) in figures.items():
            name, _, way = what.partition(".")[2].rpartition(".")
            if way in ("read", "write"):
                row = found.setdefault(name, {"name": name, "read": 0.0, "write": 0.0, "nodes": 0})
                row[way] += round(mean)
                row["nodes"] += way == "read"
    return sorted(found.values(), key=lambda row: (-(row["read"] + row["write"]), row["name"]))


def sums(db: sqlite3.Connection, began: float | None, ended: float | None, host: str = "") -> dict:
    """`host`: one node; "": the whole cluster. `rank_seconds`: the time of ranks that the sums cover, of which the functions' times are parts. Buffers
    are those of now, and empty for a time in the past."""
    begin, end = window(db, began, ended)
    jobs = _jobs(db, begin, end, host)
    most = _RANK_SPANS_MOST // max(1, sum(count for _, _, count, _, _ in jobs))
    made = [_of_job(db, job, begin, end, host, most) for job in jobs]
    of = [job for job, _ in made]
    return {"from": begin, "to": end, "jobs": len(of), "ranks": sum(job.ranks for job in of), "rank_seconds": sum(job.seconds * job.ranks for job in of),
            "seconds": max((job.seconds for job in of), default=0.0), "estimated": any(part for _, part in made), "functions": _functions(of), "sizes": _counted(of, "size"),
            "operations": _counted(of, "operation"), "buffers": _buffers(db, jobs, host) if ended is None else [], "files": _files(db, of), "lustre": _lustre(db, begin, end, host)}
