"""Answers requests of the web page, as JSON. This does not depend on the web framework: a request is a path and its parameters."""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headrace.monitor import cluster, findings, query, sums
from headrace.monitor.collector import Collector
from headrace.monitor.history import connect
from headrace.monitor.hosts.gather import Gather
from headrace.monitor.model import OUTSIDE, TEXT_MOST
from headrace.monitor.query import Range, Wrong
from headrace.monitor.sealed import Late
from headrace.monitor.stacks import stacks

LISTS = ("call", "protocol", "memory", "size", "collective", "access", "library", "phase", "queue", "buffer", "file", "operation")
_BY_RANK = frozenset({"queue", "buffer"})
_ANSWER_SECONDS = 20.0
_TIME_MOST = 1e11  # seconds since 1970; beyond any clock
_MATRIX = {"messages": ("sent_to", 0), "bytes": ("sent_to", 1), "wait": ("waited_for", 2), "waits": ("waited_for", 0),
           "internal": ("internal_to", 1)}


@dataclass(frozen=True)
class Place:
    """Sources of answers: a history file, and the collector that fills it (none for a saved run). `ending`: set when the monitor ends,
    which also ends queries and debuggers."""

    path: Path
    collector: Collector | None = None
    ending: threading.Event = field(default_factory=threading.Event)
    everyone: bool = False  # show all users' jobs (--all-users)
    topology: tuple[dict, ...] = ()  # switches (--topology)
    held: dict = field(default_factory=dict, compare=False)  # the last answers of query.held_up


def _time(text: str, name: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > _TIME_MOST:
        raise Wrong(f"{name} is seconds since 1970; {text[:40]!r} is not")
    return value


def _ends(asked: Mapping[str, str], last: Callable[[], float]) -> tuple[float | None, float | None]:
    """Returns both ends of the requested time. A negative start is relative to the end, or to the newest figures, from
    `last`."""
    begin, end = _time(asked.get("from", ""), "from"), _time(asked.get("to", ""), "to")
    if begin is not None and begin < 0:
        begin += end if end is not None else last()
    return begin, end


def _range(db: sqlite3.Connection, asked: Mapping[str, str]) -> Range:
    job = query.job_id(db, asked.get("job", ""))
    ends = _ends(asked, lambda: db.execute("SELECT seen FROM jobs WHERE id = ?", (job,)).fetchone()[0])
    return Range(job, *ends, query.ranks_of(asked.get("ranks", "")[:4000]))


def _jobs(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    search = asked.get("search", "")[:query.WORD_MOST]
    return query.count(db, search) if asked.get("count") else query.jobs(db, search, (asked.get("job", ""), asked.get("other", "")))


def _ranks(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    return query.ranks(db, _range(db, asked))


def _matrix(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    metric = asked.get("metric") or "bytes"
    if metric not in _MATRIX:
        raise Wrong(f"the matrix shows one of {', '.join(_MATRIX)}; {metric[:40]!r} is none")
    kind, column = _MATRIX[metric]
    part = _range(db, asked)
    size = db.execute("SELECT size FROM jobs WHERE id = ?", (part.job,)).fetchone()[0]
    cells = [(row[0], row[1], row[2 + column]) for row in query.counters(db, part, kind, by_rank=True) if row[2 + column]]
    return {"size": size, "metric": metric, "from": [cell[0] for cell in cells], "to": [cell[1] for cell in cells],
            "value": [cell[2] for cell in cells]}


def _counters(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    kind = asked.get("kind", "")
    if kind not in LISTS:
        raise Wrong(f"there is no list of {kind[:40]!r}")
    if kind in _BY_RANK:
        return [dict(zip(("rank", "name", "count", "bytes", "ns"), row)) for row in query.counters(db, _range(db, asked), kind, by_rank=True)]
    rows = query.calls(db, _range(db, asked)) if kind == "call" else [dict(zip(("name", "count", "bytes", "ns"), row)) for row in query.counters(db, _range(db, asked), kind)]
    return sorted(rows, key=lambda row: (-row["ns"], -row["bytes"], -row["count"], row["name"]))


def _timeline(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    return query.timeline(db, _range(db, asked))


def _slowest(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    return query.culprit(db, _range(db, asked), bool(asked.get("calls")))


def _held(db: sqlite3.Connection, _asked: Mapping[str, str]) -> object:
    return query.held_up(db, {})


def _marks(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    return query.marks(db, _range(db, asked))


def _machine(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    return query.machine(db, *_times(db, asked), _host(asked))


def _host(asked: Mapping[str, str]) -> str:
    return asked.get("host", "")[:TEXT_MOST]


def _times(db: sqlite3.Connection, asked: Mapping[str, str]) -> tuple[float | None, float | None]:
    return _ends(asked, lambda: cluster.window(db, None, None)[1])


def _nodes(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    return cluster.nodes(db, *_times(db, asked))


def _links(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    return cluster.links(db, *_times(db, asked), _host(asked))


def _gpus(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    return cluster.gpus(db, *_times(db, asked), _host(asked))


def _inside(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    return cluster.inside(db, _host(asked), *_times(db, asked))


def _findings(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    return findings.findings(db, _range(db, asked))


def _reports(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    return query.reports(db, _range(db, asked))


def _deaths(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    return query.deaths(db, _range(db, asked))


def _series(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    return query.series(db, _range(db, asked), asked.get("kind") or "call")


def _users(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    return cluster.users(db, _host(asked), *_times(db, asked))


def _sums(db: sqlite3.Connection, asked: Mapping[str, str]) -> object:
    return sums.sums(db, *_times(db, asked), _host(asked))


ANSWERS: dict[str, Callable[[sqlite3.Connection, Mapping[str, str]], object]] = {
    "jobs": _jobs, "slowest": _slowest, "held": _held, "ranks": _ranks, "matrix": _matrix, "counters": _counters, "timeline": _timeline, "marks": _marks, "machine": _machine,
    "nodes": _nodes, "links": _links, "users": _users, "gpus": _gpus, "inside": _inside, "findings": _findings, "reports": _reports, "deaths": _deaths, "series": _series, "sums": _sums}


# Answers that are not in the history.
GIVEN: dict[str, Callable[[Place], object]] = {"topology": lambda place: place.topology}


def answer(place: Place, name: str, asked: Mapping[str, str]) -> object:
    """Answers the request `name`. Raises Wrong, Unreadable."""
    if name in GIVEN:
        return GIVEN[name](place)
    db = connect(place.path, _ANSWER_SECONDS)
    db.ending = place.ending
    try:
        return query.held_up(db, place.held) if name == "held" else ANSWERS[name](db, asked)
    except sqlite3.OperationalError as error:
        ended = db.ended(error)
        raise (ended if isinstance(ended, Exception) else Late("the monitor ends")) from None
    finally:
        db.close()


def _stack(place: Place, asked: Mapping[str, str]) -> object:
    if place.collector is None:
        raise Wrong("a saved run has no processes whose stacks could be read")
    db = connect(place.path, _ANSWER_SECONDS)
    try:
        (key,) = db.execute("SELECT key FROM jobs WHERE id = ?", (query.job_id(db, asked.get("job", "")),)).fetchone()
    finally:
        db.close()
    source = place.collector.source
    return stacks(key, place.everyone, place.ending, source if isinstance(source, Gather) else None)


# Requests that do more than read the history. They are sent by POST, from the page itself.
ACTIONS: dict[str, Callable[[Place, Mapping[str, str]], object]] = {"stack": _stack}


def act(place: Place, name: str, asked: Mapping[str, str]) -> object:
    """Carries out the request `name`. Raises Wrong, Unreadable."""
    return ACTIONS[name](place, asked)


def news(place: Place) -> dict:
    """Returns the newest figures, for the event stream: small, regardless of the number of ranks."""
    if place.collector is None:
        return {"round": 0, "live": False, "remarks": []}
    state = place.collector.state
    now: dict[str, dict] = {}
    for reading in state.sweep.readings:
        job = now.setdefault(reading.rank.job, {"running": 0, "functions": {}, "waits_for": {}})
        job["running"] += not reading.ended
        for name, value in (("functions", reading.function or ("" if reading.ended else OUTSIDE)), ("waits_for", reading.waits_for)):
            if value not in (None, ""):
                job[name][str(value)] = job[name].get(str(value), 0) + 1
    for job in now.values():  # keeps the functions with the most ranks
        for name in ("functions", "waits_for"):
            job[name] = dict(sorted(job[name].items(), key=lambda item: -item[1])[:5])
    return {"round": state.round, "details": state.details_round, "time": state.time, "live": place.collector.alive(), "period": round(place.collector.period, 3), "jobs": now,
            "reporters": [reporter._asdict() for reporter in state.sweep.reporters],
            "remarks": state.remarks[:8], "collector_seconds": round(state.cpu_seconds, 3)}
