"""`headrace top`: the figures of this host's jobs in a terminal, read from their pages; nothing is kept."""

from __future__ import annotations

import argparse
import json
import select
import shutil
import sys
import termios
import time
import tty
from dataclasses import asdict, dataclass

from headrace.monitor.limits import many_descriptors
from headrace.monitor.model import SUMS, Brief, Reading, Sweep
from headrace.monitor.pages import Pages
from headrace.monitor.points import point
from headrace.monitor.source import Source

_HOME, _CLEAR, _BOLD, _PLAIN = "\x1b[H", "\x1b[J", "\x1b[1m", "\x1b[0m"
_OTHER_SCREEN, _SCREEN_BACK = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_CALLS = 4  # of a job, the functions that take most time


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
    slowest: int | None
    posted: int
    unexpected: int
    total_messages: int
    total_bytes: int
    functions: dict[str, float]  # most used ones, share of the ranks' time
    now: dict[str, int]  # in which function how many ranks are


def rows(before: Sweep, after: Sweep) -> list[Row]:
    old = {(reading.rank.job, reading.rank.rank): reading for reading in before.readings}
    jobs: dict[str, list[Reading]] = {}
    for reading in after.readings:
        jobs.setdefault(reading.rank.job, []).append(reading)
    return [_row(job, readings, old, before.time, after.time) for job, readings in sorted(jobs.items())]


def _row(job: str, readings: list[Reading], old: dict[tuple[str, int], Reading], then: float, now: float) -> Row:
    first = readings[0].rank
    # Against the last sweep; for a job that was not there, and for the first look, against its start.
    since = then if all((job, reading.rank.rank) in old for reading in readings) else min(reading.rank.began for reading in readings)
    seconds = max(1e-3, now - since)
    changes = []
    for reading in readings:
        known = old.get((job, reading.rank.rank))
        sums = known.brief if known and since == then else Brief()
        changes.append((reading, [max(0, new - was) for new, was in zip(reading.brief[:SUMS], sums)]))
    found = point(((reading.rank.rank, change[2], change[1], change[3], change[4], *reading.brief[SUMS:]) for reading, change in changes), seconds)
    return Row(job, first.program, first.size, sum(not reading.ended for reading in readings),
               round(sum(change[0] for _, change in changes) / seconds, 1), round(found.messages / seconds, 1),
               round(found.bytes / seconds, 1), found.mean, found.mpi, found.slowest, found.posted, found.unexpected,
               sum(reading.brief.sent for reading in readings), sum(reading.brief.sent_bytes for reading in readings),
               _functions(readings, old if since == then else {}, seconds), _now(readings))


def _functions(readings: list[Reading], old: dict[tuple[str, int], Reading], seconds: float) -> dict[str, float]:
    times: dict[str, int] = {}
    for reading in readings:
        known = old.get((reading.rank.job, reading.rank.rank))
        before = (known.details or {}).get("call", {}) if known else {}
        for name, counter in (reading.details or {}).get("call", {}).items():
            times[name] = times.get(name, 0) + counter.ns - (before[name].ns if name in before else 0)
    most = sorted((name for name in times if times[name] > 0), key=lambda name: (-times[name], name))[:_CALLS]
    return {name: round(times[name] / (seconds * 1e9 * len(readings)), 4) for name in most}


def _now(readings: list[Reading]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for reading in readings:
        if not reading.ended:
            counts[reading.function or "computing"] = counts.get(reading.function or "computing", 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_CALLS])


def short(value: float, unit: str = "") -> str:
    for letter in ("", "k", "M", "G", "T"):
        if abs(value) < 1000:
            break
        value /= 1000
    digits = 0 if not letter or value >= 100 else 1
    return f"{value:.{digits}f} {letter}{unit}".rstrip()


def text(found: list[Row], remarks: list[str], columns: int = 100) -> str:
    if not found:
        lines = ["No job of yours runs on this host (or its library keeps no counters)."]
    else:
        lines = [f"{'job':<24} {'program':<14} {'ranks':>9} {'calls/s':>9} {'msg/s':>9} {'B/s':>9} {'MPI':>5} {'wait':>5} {'slowest':>8}"]
    for row in found:
        ranks = f"{row.running}/{row.ranks}"
        slowest = "-" if row.slowest is None else f"rank {row.slowest}"
        lines.append(f"{row.job.removeprefix('headrace_')[:24]:<24} {row.program[:14]:<14} {ranks:>9} {short(row.calls_per_second):>9} "
                     f"{short(row.messages_per_second):>9} {short(row.bytes_per_second):>9} {row.mpi_share:>5.0%} {row.wait_share:>5.0%} {slowest:>8}")
        if row.functions:
            lines.append("  time in   " + "  ".join(f"{name} {share:.0%}" for name, share in row.functions.items()))
        if row.now:
            lines.append("  now       " + "  ".join(f"{name}: {count}" for name, count in row.now.items()))
        lines.append(f"  in all    {short(row.total_messages)} messages, {short(row.total_bytes, 'B')}; queues: {row.posted} posted, {row.unexpected} unexpected")
    lines += [f"note: {remark}" for remark in remarks]
    return "\n".join(line[:columns] for line in lines)


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="headrace top", description="Shows what the jobs of this host do: rates, waiting, the slowest rank.")
    parser.add_argument("--once", action="store_true", help="look for one period, print, end")
    parser.add_argument("--json", action="store_true", help="for programs: one JSON document (with --once), or one a period, each on a line")
    parser.add_argument("--period", type=float, default=1.0, metavar="S", help="seconds between two looks (%(default)s)")
    args = parser.parse_args(argv)
    if not 0.05 <= args.period <= 3600:
        parser.error("--period is from 0.05 to 3600 seconds")
    return args


def _json(found: list[Row], after: Sweep) -> str:
    return json.dumps({"time": after.time, "jobs": [asdict(row) for row in found], "remarks": after.remarks})


class _Screen:
    """The terminal's other screen, and keys as they are typed."""

    def __enter__(self) -> _Screen:
        self._before = termios.tcgetattr(sys.stdin) if sys.stdin.isatty() else None
        if self._before:
            tty.setcbreak(sys.stdin)
        sys.stdout.write(_OTHER_SCREEN)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._before)
        sys.stdout.write(_SCREEN_BACK)
        sys.stdout.flush()

    def show(self, said: str) -> None:
        head, _, rest = said.partition("\n")
        sys.stdout.write(f"{_HOME}{_CLEAR}{_BOLD}{head}{_PLAIN}\n{rest}\n\nq ends\n")
        sys.stdout.flush()

    def ended(self, seconds: float) -> bool:
        if not self._before:
            time.sleep(seconds)
            return False
        return bool(select.select([sys.stdin], [], [], seconds)[0]) and sys.stdin.read(1) in "qQ"


def _live(source: Source, period: float) -> None:
    before = source.sweep(True)
    with _Screen() as screen:
        size = shutil.get_terminal_size()
        screen.show(text(rows(before, before), before.remarks, size.columns))
        while not screen.ended(period):
            after = source.sweep(True)
            size = shutil.get_terminal_size()
            lines = text(rows(before, after), after.remarks, size.columns).splitlines()
            screen.show("\n".join(lines[:max(2, size.lines - 3)]))
            before = after


def main(argv: list[str], source: Source | None = None) -> int:
    args = _arguments(argv)
    many_descriptors()
    source = source or Pages()
    try:
        if not args.once and not args.json:
            _live(source, args.period)
            return 0
        before = source.sweep(True)
        while True:
            time.sleep(args.period if before.readings else min(args.period, 0.2))
            after = source.sweep(True)
            found = rows(before, after)
            print(_json(found, after) if args.json else text(found, after.remarks), flush=True)
            if args.once:
                return 0 if found else 1
            before = after
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:
        sys.stdout = None
        return 0
