"""Sums over the history of one job, for the views. Everything here also works on a saved run.

`Range` is an interval of time and a set of ranks. Queries of the whole run use totals, which are exact despite thinning; queries of
a part use the spans that end in it.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from headrace.doctor.facts import ranges
from headrace.monitor import chance, durations
from headrace.monitor.model import GAUGES, KINDS, PEERS, Origin
from headrace.monitor.points import Point, of_span
from headrace.monitor.schema import CHANGES, SAMPLES

WORD_MOST = 400  # maximum number of characters of a search
ENDED_MOST = 500  # maximum number of jobs in a list
POINTS_MOST = 1500  # maximum number of points of a timeline: more than a screen has columns
MARKS_MOST = 2000  # maximum number of marks of a timeline, the last ones
SERIES_MOST = 5  # maximum number of lines of a plot of counters over time: more cannot be told apart
REPORTS_MOST = 200  # maximum number of different reports of the checker in one answer
RANKS_MOST = 1 << 20
HOSTS_MOST = 8  # maximum number of hosts whose figures over time are in one answer
CALLS_MOST = 8  # maximum number of functions that are compared between a rank and the others
_WAITS_LEAST = 0.02  # share of the time from which on a function is named as the one in which ranks wait
_POINTS_OF_SOME = 200  # maximum number of points that are combined for selected ranks
_OVER_SECONDS, _OVER_POINTS = 15.0, 3  # a rank holds the others up no longer if another one has been the slowest for that long
_WITHIN_LEAST = 2  # seconds
_START_PART = 0.25  # maximum part of an interval that its first point is, if the rank is named from the start of its job
HELD_MOST = 32  # maximum number of running jobs whose slowest rank is in one answer
_HELD_SECONDS = 5.0  # for which it is kept
_SUMS = ("calls", "mpi_ns", "wait_ns", "sent", "sent_bytes", "received", "received_bytes")
_GAUGES = ("posted", "unexpected", "unexpected_bytes")


class Wrong(Exception):
    """A request that cannot be answered; the message contains the reason."""


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
    """Parses "0-3,8" into a set; None for an empty string. Raises Wrong."""
    found: set[int] = set()
    count = 0
    for part in text.replace(" ", "").split(","):
        if not part:
            continue
        first, dash, last = part.partition("-")
        try:
            begin, end = int(first), int(last) if dash else int(first)
        except ValueError:
            raise Wrong(f"ranks are numbers and ranges such as 0-3,8; {part[:40]!r} is neither") from None
        count += end - begin + 1
        if not 0 <= begin <= end < RANKS_MOST or count > RANKS_MOST:
            raise Wrong(f"ranks are numbers and ranges such as 0-3,8; {part[:40]!r} is not a range")
        found.update(range(begin, end + 1))
    return frozenset(found) or None


_ORIGIN = "EXISTS (SELECT 1 FROM origins WHERE origins.job = jobs.id AND has_word({}, {{}}))"
_WORDS_MOST = 16
# Fields that a search can use, and their conditions.
_FIELDS = {
    "job": "has_word(jobs.key, {})",
    "program": "has_word(program, {})",
    "host": "EXISTS (SELECT 1 FROM ranks WHERE ranks.job = jobs.id AND has_word(host, {}))",
    "user": _ORIGIN.format("user"),
    "command": _ORIGIN.format("command"),
    "batch": _ORIGIN.format("batch || ' ' || batch_job || ' ' || batch_name"),
}


def has(db: sqlite3.Connection, table: str) -> bool:
    """False in a run that was saved before the table was kept."""
    return bool(db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone())


def _found(db: sqlite3.Connection, search: str) -> tuple[str, dict[str, str]]:
    """Returns an SQL condition on `jobs`, and its values. All words must match: a plain word in any field, FIELD:word
    in that field, and state:running or state:ended by state. Raises Wrong."""
    db.create_function("has_word", 2, lambda text, word: word in str(text or "").casefold(), deterministic=True)
    conditions, values = ["1"], {}
    fields = _FIELDS if has(db, "origins") else {name: field for name, field in _FIELDS.items() if "origins" not in field}
    for number, word in enumerate(search.casefold().split()[:_WORDS_MOST]):
        name, colon, rest = word.partition(":")
        if colon and name == "state":
            if rest not in ("running", "ended"):
                raise Wrong(f"state:{rest[:40]} is neither state:running nor state:ended")
            conditions.append("jobs.ended" if rest == "ended" else "NOT jobs.ended")
            continue
        chosen = [fields[name]] if colon and name in fields else [] if colon and name in _FIELDS else list(fields.values())
        values[f"w{number}"] = rest if colon and name in _FIELDS else word
        conditions.append("(" + " OR ".join(field.format(f":w{number}") for field in chosen or ["0"]) + ")")
    return " AND ".join(conditions), values


def jobs(db: sqlite3.Connection, search: str = "", also: Iterable[str] = ()) -> list[dict]:
    """Returns all running jobs, then up to ENDED_MOST that have ended, the newest first. `search`: words (see _found).
    `also`: numbers or keys of jobs that are always listed, with `found` 0 if the search does not find them."""
    found, word = _found(db, search)
    listed = {number for (number,) in db.execute(
        f"SELECT id FROM (SELECT id FROM jobs WHERE NOT ended AND {found}) UNION "
        f"SELECT id FROM (SELECT id FROM jobs WHERE ended AND {found} ORDER BY began DESC, id DESC LIMIT {ENDED_MOST})", word)}
    searched = frozenset(listed)
    for name in filter(None, also):
        listed.update(number for (number,) in db.execute("SELECT id FROM jobs WHERE key = ? OR CAST(id AS TEXT) = ?", (name, name)))
    rows = db.execute("SELECT jobs.id, jobs.key, program, size, began, jobs.seen, jobs.ended, count(ranks.rank), sum(calls), sum(wait_ns), "
                      "sum(mpi_ns), sum(sent), sum(sent_bytes), sum(received_bytes), group_concat(DISTINCT host) "
                      f"FROM jobs LEFT JOIN ranks ON ranks.job = jobs.id WHERE jobs.id IN ({', '.join(map(str, listed))}) "
                      "GROUP BY jobs.id ORDER BY jobs.ended != 0, jobs.began DESC, jobs.id DESC")
    names = ("id", "key", "program", "size", "began", "seen", "ended", "known", "calls", "wait_ns", "mpi_ns", "sent", "sent_bytes",
             "received_bytes", "hosts")
    origins = {number: said for number, *said in db.execute("SELECT job, user, command, batch, batch_job, batch_name FROM origins")} if has(db, "origins") else {}
    return [{**dict(zip(names, row)), **dict(zip(Origin._fields, origins.get(row[0], Origin()))), "found": int(row[0] in searched)} for row in rows]


def count(db: sqlite3.Connection, search: str = "") -> dict[str, int]:
    """Returns the number of jobs, and of those that a search finds, whether listed or not."""
    found, word = _found(db, search)
    return {"all": db.execute("SELECT count(*) FROM jobs").fetchone()[0],
            "found": db.execute(f"SELECT count(*) FROM jobs WHERE {found}", word).fetchone()[0]}


def job_id(db: sqlite3.Connection, word: str) -> int:
    """Returns the id of the job with a number or key; of the newest one for "". Raises Wrong."""
    if word == "":
        row = db.execute("SELECT id FROM jobs ORDER BY ended, began DESC, id DESC LIMIT 1").fetchone()
    else:
        row = db.execute("SELECT id FROM jobs WHERE key = ? OR CAST(id AS TEXT) = ? LIMIT 1", (word, word)).fetchone()
    if row is None:
        raise Wrong(f"there is no job {word[:60]!r} in this history" if word else "there is no job in this history")
    return row[0]


def ranks(db: sqlite3.Connection, part: Range) -> list[dict]:
    """Returns one row per rank: its identity, sums of the range, current gauges; the time of cores that its process used, and its memory, are None
    for runs of older versions and of other MPIs."""
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
    cpu = {rank: ns for rank, _, _, _, ns in counters(db, part, "cpu", by_rank=True)}
    resident = {rank: most for rank, _, _, most, _ in counters(db, part, "resident", by_rank=True)}
    for row in found:
        row.update(seconds=seconds, cpu_ns=cpu.get(row["rank"]), memory=resident.get(row["rank"]))
    return found


def counters(db: sqlite3.Connection, part: Range, kind: str, by_rank: bool = False) -> list[tuple]:
    """Returns (rank, key, count, bytes, ns) for a kind if `by_rank`, otherwise sums over the ranks, without a rank; keys are text
    or ranks."""
    if kind not in KINDS:
        raise Wrong(f"there is no kind of counter {kind[:40]!r}")
    if part.whole() or kind in GAUGES:
        source, where, values = "totals", "totals.job = ?", [part.job]
    else:
        source = "changes JOIN spans ON spans.id = span"
        where, values = "spans.job = ? AND what = ? AND spans.ended > ? AND spans.ended <= ?", [part.job, CHANGES, *part.times()]
    # Ranks are chosen here and not in SQL: a set may be longer than a statement can be.
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


def calls(db: sqlite3.Connection, part: Range) -> list[dict]:
    """Returns the counters of MPI functions, the seconds and ranks that they cover, and the rank whose calls take longest, also if no other one calls the function.
    `median`, `p99`: nanoseconds that 50 % and 99 % of the calls do not exceed, and `durations`: calls by the beginning of their class; None and
    empty for runs of older versions, and where no call was counted by duration."""
    began, seen = db.execute("SELECT began, seen FROM jobs WHERE id = ?", (part.job,)).fetchone()
    begin, end = part.times()
    seconds = max(1e-3, min(end, seen) - max(begin, began))
    by_name: dict[str, list[tuple[int, int, int, int]]] = {}
    for rank, name, *figures in counters(db, part, "call", by_rank=True):
        by_name.setdefault(name, []).append((rank, *figures))
    count = len({rank for rows in by_name.values() for rank, *_ in rows})
    lengths = durations.by_function((key, count) for key, count, _, _ in counters(db, part, "duration"))
    found = []
    for name, rows in by_name.items():
        means = sorted((ns / count, rank) for rank, count, _, ns in rows if count and ns)
        number = sum(row[1] for row in rows)
        classes = durations.whole(lengths.get(name, {}), number)
        found.append({"name": name, "count": number, "bytes": sum(row[2] for row in rows), "ns": sum(row[3] for row in rows), "seconds": seconds, "ranks": count,
                      "median": durations.quantile(classes, 0.5), "p99": durations.quantile(classes, 0.99), "durations": list(classes.items()),
                      "worst": means[-1][1] if means else None})
    return found


def deaths(db: sqlite3.Connection, part: Range) -> list[dict]:
    """Returns the ranks that ended without MPI_Finalize, those that were seen at the same time as one, the first ones first."""
    if not has(db, "deaths"):
        return []
    found: dict[float, list[int]] = {}
    for rank, time in db.execute("SELECT rank, time FROM deaths WHERE job = ? AND time > ? AND time <= ? ORDER BY time, rank", (part.job, *part.times())):
        if part.has(rank):
            found.setdefault(time, []).append(rank)
    return [{"time": time, "ranks": ", ".join(ranges(numbers)), "count": len(numbers)} for time, numbers in list(found.items())[:MARKS_MOST]]


def reports(db: sqlite3.Connection, part: Range) -> list[dict]:
    """Returns the checker's reports that began in the chosen time, those with equal texts as one, the first ones first."""
    if not has(db, "reports"):
        return []
    found: dict[str, dict] = {}
    for rank, time, times, text in db.execute("SELECT rank, time, times, text FROM reports WHERE job = ? AND time > ? AND time <= ? ORDER BY time, rank, number",
                                              (part.job, *part.times())):
        if not part.has(rank):
            continue
        row = found.setdefault(text, {"text": text, "time": time, "times": 0, "ranks": []})
        row["times"] += times
        row["ranks"].append(rank)
    return [{**row, "ranks": ", ".join(ranges(row["ranks"])), "count": len(row["ranks"])} for row in list(found.values())[:REPORTS_MOST]]


def series(db: sqlite3.Connection, part: Range, kind: str) -> dict:
    """Returns counts per second over time of the most frequent counters of a kind: {"time": [...], "rates": {name: [...]}}."""
    if kind not in KINDS or kind in PEERS:
        raise Wrong(f"there is no series of {kind[:40]!r}")
    spans = {number: (began, ended) for number, began, ended in db.execute(
        "SELECT id, began, ended FROM spans WHERE job = ? AND what = ? AND ended > ? AND ended <= ? ORDER BY ended", (part.job, CHANGES, *part.times()))}
    names, counts, sums = dict(db.execute("SELECT id, name FROM names")), {}, {}
    ranked = "" if part.ranks is None else ", rank"
    for span, key, count, *rank in db.execute(f"SELECT span, key, sum(count){ranked} FROM changes JOIN spans ON spans.id = span WHERE spans.job = ? AND what = ? AND spans.ended > ? "
                                              f"AND spans.ended <= ? AND kind = ? GROUP BY span, key{ranked}", (part.job, CHANGES, *part.times(), KINDS[kind])):
        if count and (not rank or part.has(rank[0])):
            counts[key, span] = counts.get((key, span), 0) + count
            sums[key] = sums.get(key, 0) + count
    chosen = sorted(sums, key=lambda key: (-sums[key], key))[:SERIES_MOST]
    step = -(-len(spans) // POINTS_MOST) or 1
    groups = [list(spans)[first:first + step] for first in range(0, len(spans), step)]
    lengths = [max(1e-3, sum(spans[span][1] - spans[span][0] for span in group)) for group in groups]
    return {"time": [spans[group[-1]][1] for group in groups], "left_out": len(sums) - len(chosen),
            "rates": {names.get(key, str(key)): [round(sum(counts.get((key, span), 0) for span in group) / length, 3) for group, length in zip(groups, lengths)] for key in chosen}}


def timeline(db: sqlite3.Connection, part: Range, most: int = POINTS_MOST) -> dict[str, list]:
    """Returns columns over time: end and length of each point, and the fields of Point, with messages and bytes per second. If there are more spans than a screen can
    show, one represents several; its values are typical, except for the slowest rank and the peaks."""
    spans = db.execute("SELECT spans.id, began, ended, points.* FROM spans JOIN points ON span = spans.id WHERE job = ? AND what = ? "
                       "AND ended > ? AND ended <= ? ORDER BY ended", (part.job, SAMPLES, *part.times())).fetchall()
    columns: dict[str, list] = {name: [] for name in ("time", "seconds", *Point._fields)}
    for span, began, ended, _, *figures in spans[::-(-len(spans) // most) or 1]:
        seconds = max(1e-3, ended - began)
        found = Point(*figures) if part.ranks is None else of_span(db, span, seconds, part.has)
        found = found._replace(messages=round(found.messages / seconds, 1), bytes=round(found.bytes / seconds))
        for name, value in zip(columns, (ended, round(seconds, 3), *found)):
            columns[name].append(value)
    return columns


def _line(db: sqlite3.Connection, part: Range) -> list[tuple[float, float, int | None, float]]:
    """Returns begin, end and slowest rank of the points, and how much less that rank waits than the mean; of evenly spread ones for selected ranks."""
    where = "WHERE job = ? AND what = ? AND ended > ? AND ended <= ? ORDER BY ended", (part.job, SAMPLES, *part.times())
    if part.ranks is None:
        return db.execute(f"SELECT began, ended, slowest, mean - least FROM spans JOIN points ON span = spans.id {where[0]}", where[1]).fetchall()
    spans = db.execute(f"SELECT id, began, ended FROM spans {where[0]}", where[1]).fetchall()
    points = [(began, ended, of_span(db, span, ended - began, part.has)) for span, began, ended in spans[::-(-len(spans) // _POINTS_OF_SOME) or 1]]
    return [(began, ended, point.slowest, point.mean - point.least) for began, ended, point in points]


def _waits(db: sqlite3.Connection, part: Range, began: float, ended: float) -> list[tuple[int, float]]:
    """Returns the ranks and the share of that time that each waits."""
    return [(rank, min(1.0, wait / 1e9 / max(1e-3, ended - began))) for rank, wait in db.execute(
        "SELECT rank, sum(wait_ns) FROM samples JOIN spans ON spans.id = span WHERE job = ? AND what = ? AND spans.ended > ? AND spans.ended <= ? GROUP BY rank",
        (part.job, SAMPLES, began, ended)) if part.has(rank)]


def slowest(db: sqlite3.Connection, part: Range) -> dict:
    """Returns the rank that holds up the others (chance.py; `rank`; None: no rank), and data on it: `share` of the time in which it is the slowest, `equal`: the
    share expected of equal ranks, its host and cores, and the share of its time outside MPI. All of these, except `equal`, are about the interval from `since` to
    `until`, in which it is the slowest most of the time, or, without these, about the whole time. `within`: seconds by which both ends may be off.
    `goes_on`: the interval includes the newest figures, or ended only a moment before them. `earlier`: it may have begun before the chosen time. `start`: it has begun with the job."""
    line, rows = _line(db, part), ranks(db, part)
    seen = [chance.Seen(max(1e-3, ended - began), rank, margin) for began, ended, rank, margin in line]
    held = chance.find(seen, [(row["rank"], row["wait_ns"] / 1e9 / max(1e-3, row["seconds"])) for row in rows], lambda first, last: _waits(db, part, line[first][0], line[last - 1][1]))
    row = next((row for row in rows if held and row["rank"] == held.rank), None)
    found = {"rank": row and held.rank, "share": round(held.share, 4) if row else 0.0, "equal": round(1 / max(1, len(rows)), 4), "points": len(line)}
    if row is None:
        return found
    found.update(host=row["host"], cpus=row["cpus"], gpu=row["gpu"])
    used = row["mpi_ns"], row["wait_ns"], row["seconds"]
    if not held.whole:
        first, last = held.first, held.last
        goes_on = line[-1][1] - line[last - 1][1] < max(_OVER_SECONDS, _OVER_POINTS * seen[-1].seconds)
        if goes_on:
            last = len(line)
        since, until = max(part.began or 0.0, line[first][0]), line[last - 1][1]
        lengths = [each.seconds for each in (*seen[max(0, first - 1):first + 1], *seen[last - 1:last + 1])]
        # A monitor that was started late has one point for the time before.
        from_start = first == 0 and seen[0].seconds <= max(10.0, _START_PART * (until - since)) and line[0][0] - db.execute("SELECT began FROM jobs WHERE id = ?", (part.job,)).fetchone()[0] < _WITHIN_LEAST
        found.update(since=since, until=until, goes_on=goes_on, earlier=first == 0 and part.began is not None and not from_start, start=from_start, within=max(_WITHIN_LEAST, math.ceil(max(lengths) - 0.5)), share=round(chance.share(seen[first:last], held.rank), 4))
        used = db.execute("SELECT total(mpi_ns), total(wait_ns), total(spans.ended - began) FROM samples JOIN spans ON spans.id = span "
                          "WHERE job = ? AND what = ? AND spans.ended > ? AND spans.ended <= ? AND rank = ?", (part.job, SAMPLES, since, until, held.rank)).fetchone()
    found["outside"] = round(1 - min(1.0, max(used[:2]) / 1e9 / max(1e-3, used[2])), 4)
    return found


def held_up(db: sqlite3.Connection, known: dict[tuple[str, int], dict]) -> dict[int, dict]:
    """Returns the result of slowest() for the newest running jobs, by id. `known`: those of some seconds ago, which are used and renewed."""
    rows = db.execute("SELECT id, key, seen FROM jobs WHERE NOT ended ORDER BY began DESC, id DESC LIMIT ?", (HELD_MOST,)).fetchall()
    found = {number: known.get((key, int(seen // _HELD_SECONDS))) or slowest(db, Range(number)) for number, key, seen in rows}
    known.clear()
    known.update({(key, int(seen // _HELD_SECONDS)): found[number] for number, key, seen in rows})
    return found


def culprit(db: sqlite3.Connection, part: Range, calls: bool = False) -> dict:
    """Returns the result of slowest(). `calls`: also what the rank did in that interval (see beside), and the function in which the others wait for it."""
    found = slowest(db, part)
    if calls and found["rank"] is not None:
        rows = beside(db, Range(part.job, found["since"], found["until"]) if "since" in found else part, found["rank"])
        waits = max(rows, key=lambda row: row["others"] - row["own"], default=None)
        found.update(calls=rows[:CALLS_MOST], waits_in=waits["name"] if waits and waits["others"] - waits["own"] >= _WAITS_LEAST else "")
    return found


def beside(db: sqlite3.Connection, part: Range, rank: int) -> list[dict]:
    """Returns the shares of time that a rank and, on average, all other ranks spent in each MPI function, the largest first; none if no counters by
    function were read in that time."""
    if part.whole():
        seconds = db.execute("SELECT seen - began FROM jobs WHERE id = ?", (part.job,)).fetchone()[0]
    else:  # spans of old counters are long: those that are in the interval for the most part
        begin, end, seconds = db.execute("SELECT min(began), max(ended), total(ended - began) FROM spans WHERE job = ? AND what = ? AND (began + ended) / 2 > ? AND (began + ended) / 2 <= ?",
                                         (part.job, CHANGES, *part.times())).fetchone()
        if begin is None:
            return []
        part = Range(part.job, begin, end, part.ranks)
    own: dict[str, int] = {}
    others: dict[str, int] = {}
    ranks = set()
    for each, name, _, _, ns in counters(db, part, "call", by_rank=True):
        ranks.add(each)
        times = own if each == rank else others
        times[name] = times.get(name, 0) + ns
    scale, count = 1e9 * max(1e-3, seconds), max(1, len(ranks - {rank}))
    found = [{"name": name, "own": round(min(1.0, own.get(name, 0) / scale), 4), "others": round(min(1.0, others.get(name, 0) / scale / count), 4)} for name in own | others]
    return sorted(found, key=lambda row: (-max(row["own"], row["others"]), row["name"]))


def marks(db: sqlite3.Connection, part: Range) -> list[dict]:
    """Returns calls of MPI_Pcontrol, combined over all ranks by number: times of the first and last rank, and the number of
    ranks."""
    if not has(db, "marks"):
        return []
    found: dict[tuple[int, int], list] = {}
    for rank, number, time, level in db.execute("SELECT rank, number, time, level FROM marks WHERE job = ? AND time > ? AND time <= ? ORDER BY time, number",
                                                (part.job, *part.times())):
        if part.has(rank):
            mark = found.setdefault((number, level), [time, time, 0])
            mark[1], mark[2] = time, mark[2] + 1
    return [{"number": number, "level": level, "first": first, "last": last, "ranks": count}
            for (number, level), (first, last, count) in list(found.items())[-MARKS_MOST:]]


def machine(db: sqlite3.Connection, began: float | None, ended: float | None, chosen: str = "") -> dict[str, dict[str, list]]:
    """Returns {host: {figure: [[times], [values]]}}, thinned to screen resolution; for the host `chosen`, or for the
    first few."""
    begin, end = int(began or 0), int(ended if ended is not None else 1 << 60)
    first, last = db.execute("SELECT min(time), max(time) FROM machine WHERE time >= ? AND time <= ?", (begin, end)).fetchone()
    if first is None:
        return {}
    step = max(1, (last - first) // POINTS_MOST + 1)
    found: dict[str, dict[str, list]] = {}
    hosts = [chosen] if chosen else [host for (host,) in db.execute("SELECT DISTINCT host FROM machine WHERE time >= ? AND time <= ? ORDER BY host LIMIT ?", (first, last, HOSTS_MOST))]
    for when, host, name, value in db.execute(
            f"SELECT time, host, name, max(value) FROM machine JOIN names ON names.id = what WHERE time >= ? AND time <= ? "
            f"AND host IN ({', '.join('?' * len(hosts))}) GROUP BY host, what, time / ? ORDER BY time", (first, last, *hosts, step)):
        times, values = found.setdefault(host, {}).setdefault(name, [[], []])
        times.append(when)
        values.append(value)
    return found
