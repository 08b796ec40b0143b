"""`headrace top`: figures of this host's jobs in a terminal, read from their pages; stores nothing.

Computes the figures between two readings; top_text.py formats them, top_screen.py handles the terminal.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from headrace import command
from headrace.command import Parser
from headrace.monitor import all_users, chance
from headrace.monitor.limits import many_descriptors
from headrace.monitor.model import OUTSIDE, SUMS, Brief, Reading, Sweep
from headrace.monitor.pages import Pages
from headrace.monitor.points import point
from headrace.monitor.source import Source
from headrace.monitor.top_screen import Screen, is_terminal, width
from headrace.monitor.top_text import short, text

__all__ = ["Row", "define", "main", "rows", "short", "text"]

_CALLS = 4  # number of functions shown: those of a job with the most time
_LOOKS = 180  # number of readings that a live view remembers, with the slowest rank in each
_NEWEST = 10.0  # seconds, within the newest of which a rank has to be the slowest


@dataclass
class Row:
    """A job between two sweeps."""

    job: str
    program: str
    ranks: int
    running: int
    calls_per_second: float
    messages_per_second: float
    bytes_per_second: float
    wait_share: float  # mean of the ranks
    mpi_share: float
    slowest: int | None  # None if it may be chance
    posted: int
    unexpected: int
    total_messages: int
    total_bytes: int
    functions: dict[str, float]  # the functions with the most time, with their share of the ranks' time
    now: dict[str, int]  # number of ranks in each function


def rows(before: Sweep, after: Sweep, seen: dict[str, deque] | None = None) -> list[Row]:
    """`seen`: slowest ranks of earlier readings (chance.Seen), by job; the one found now is added."""
    old = {(reading.rank.job, reading.rank.rank): reading for reading in before.readings}
    jobs: dict[str, list[Reading]] = {}
    for reading in after.readings:
        jobs.setdefault(reading.rank.job, []).append(reading)
    seen = {} if seen is None else seen
    return [_row(job, readings, old, before.time, after.time, seen.setdefault(job, deque(maxlen=_LOOKS))) for job, readings in sorted(jobs.items())]


def _row(job: str, readings: list[Reading], old: dict[tuple[str, int], Reading], then: float, now: float, seen: deque) -> Row:
    first = readings[0].rank
    # Compared with the last sweep, or with the job's start if the job is new and in the first reading.
    since = then if all((job, reading.rank.rank) in old for reading in readings) else min(reading.rank.began for reading in readings)
    if since != then:
        old = {}
    seconds = max(1e-3, now - since)
    changes = []
    for reading in readings:
        known = old.get((job, reading.rank.rank))
        sums = known.brief if known else Brief()
        change = [max(0, new - was) for new, was in zip(reading.brief[:SUMS], sums)]
        if _all_in_one_call(reading, known):
            change[1] = int(seconds * 1e9)
        changes.append((reading, change))
    found = point(((reading.rank.rank, change[2], change[1], change[3], change[4], *reading.brief[SUMS:]) for reading, change in changes), seconds)
    if old:
        seen.append(chance.Seen(seconds, found.slowest, found.mean - found.least))
    slowest = _slowest(seen, [(reading.rank.rank, min(1.0, change[2] / 1e9 / seconds)) for reading, change in changes])
    return Row(job, first.program, first.size, sum(not reading.ended for reading in readings),
               round(sum(change[0] for _, change in changes) / seconds, 1), round(found.messages / seconds, 1),
               round(found.bytes / seconds, 1), found.mean, found.mpi, slowest, found.posted, found.unexpected,
               sum(reading.brief.sent for reading in readings), sum(reading.brief.sent_bytes for reading in readings),
               _functions(readings, old, seconds), _now(readings))


def _slowest(seen: Sequence[chance.Seen], waits: Sequence[tuple[int, float]]) -> int | None:
    """Returns the rank that holds the others up now, if that is not chance. `waits`: ranks and the share of the last interval that each waits."""
    newest: list[chance.Seen] = []
    for each in reversed(seen):
        if sum(one.seconds for one in newest) >= _NEWEST:
            break
        newest.append(each)
    held = chance.often(list(seen), len(waits))
    rank = held.rank if held else chance.apart(waits)
    return rank if rank is not None and (not newest or chance.share(newest, rank) > 0.5) else None


def _functions(readings: list[Reading], old: dict[tuple[str, int], Reading], seconds: float) -> dict[str, float]:
    """Returns shares of the ranks' time, which add up to at most 1."""
    times: dict[str, float] = {}
    for reading in readings:
        for name, time_ in _times(reading, old.get((reading.rank.job, reading.rank.rank)), seconds * 1e9).items():
            times[name] = times.get(name, 0) + time_
    most = sorted((name for name in times if times[name] > 0), key=lambda name: (-times[name], name))[:_CALLS]
    return {name: int(10_000 * times[name] / (seconds * 1e9 * len(readings)) + 1e-6) / 10_000 for name in most}


def _all_in_one_call(reading: Reading, known: Reading | None) -> bool:
    """True if the rank is in the same call as in the last reading and has begun no other; its length is counted when it ends."""
    return (known is not None and not reading.ended and reading.function != "" and known.function == reading.function
            and known.brief.calls == reading.brief.calls)


def _times(reading: Reading, known: Reading | None, length: float) -> dict[str, float]:
    """Returns the time that a rank spent in each function within `length` nanoseconds."""
    now, before = ((each.details or {}).get("call", {}) if each else {} for each in (reading, known))
    if _all_in_one_call(reading, known):
        return {reading.function: length}
    found = {name: max(0.0, counter.ns - (before[name].ns if name in before else 0)) for name, counter in now.items()}
    excess = sum(found.values()) - length
    if excess > 0 and known and known.function in found:  # the call started before the first reading
        found[known.function] -= min(excess, found[known.function])
    whole = sum(found.values())  # still too long if several threads were in calls at once, or lengths are estimated
    return {name: time_ * length / whole for name, time_ in found.items()} if whole > length else found


def _now(readings: list[Reading]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for reading in readings:
        if not reading.ended:
            counts[reading.function or OUTSIDE] = counts.get(reading.function or OUTSIDE, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_CALLS])


def define(parser: Parser) -> None:
    parser.set_defaults(execute=run)
    parser.check = _check
    parser.description = "Shows what the jobs on this host do: rates, waiting, the slowest rank."
    parser.add_argument("--once", action="store_true", help="observe one period, print, and exit")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs: one document with --once, otherwise one line per period")
    parser.add_argument("--period", type=float, default=1.0, metavar="S", help="seconds between two readings (%(default)s)")
    all_users.add(parser)


def _check(parser: Parser, args: argparse.Namespace) -> None:
    all_users.check(parser, args)
    if not 0.05 <= args.period <= 3600:
        parser.error("--period is from 0.05 to 3600 seconds")


def _json(found: list[Row], after: Sweep) -> str:
    return json.dumps({"time": after.time, "jobs": [asdict(row) for row in found], "remarks": after.remarks})


def _live(source: Source, period: float) -> None:
    seen: dict[str, deque] = {}
    before = source.sweep(True)
    with Screen() as screen:
        screen.show(text(rows(Sweep(0.0), before), before.remarks, width()))
        while not screen.ended(period):
            after = source.sweep(True)
            screen.show(text(rows(before, after, seen), after.remarks, width()))
            seen = {job: looks for job, looks in seen.items() if any(reading.rank.job == job for reading in after.readings)}
            before = after


def _printed(source: Source, args: argparse.Namespace) -> int:
    """Prints for a file, a pipe or a program: plain lines without terminal codes."""
    seen: dict[str, deque] = {}
    before = source.sweep(True)
    while True:
        time.sleep(args.period if before.readings else min(args.period, 0.2))
        after = source.sweep(True)
        found = rows(before, after, seen)
        if args.json:
            print(_json(found, after), flush=True)
        else:
            when = [] if args.once else [time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(after.time))]
            print("\n".join([*when, text(found, after.remarks, width()), *([] if args.once else [""])]), flush=True)
        if args.once:
            return 0 if found else 1
        before = after


def main(argv: list[str], source: Source | None = None) -> int:
    return run(command.parse("headrace top", define, argv), source)


def run(args: argparse.Namespace, source: Source | None = None) -> int:
    many_descriptors()
    source = source or Pages(everyone=args.all_users)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # names may contain letters that the terminal cannot show
    try:
        if args.once or args.json or not is_terminal():
            return _printed(source, args)
        _live(source, args.period)
        return 0
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:
        sys.stdout = None
        return 0
