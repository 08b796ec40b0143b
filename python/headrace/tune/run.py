"""One run of `headrace tune`: planning, measuring, and writing the files."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from headrace.bench.child import Failed
from headrace.bench.progress import Progress
from headrace.bench.programs import Programs, locate
from headrace.tune import collectives, files, messages, peers, show
from headrace.tune.choose import DEFAULT, Choice, Group, merged
from headrace.tune.collectives import OPERATIONS, Collectives, Plan, candidates, selection
from headrace.tune.journal import Journal
from headrace.tune.messages import Found, Messages
from headrace.tune.work import Work

SIZES = (8, 64, 512, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20)
_QUICK_TIMES = ("--iters", "5", "--warmup", "1", "--reps", "2")
_TIMES = ("--reps", "5", "--seconds", "1")


@dataclass
class Result:
    chosen: dict[Group, list[Choice]] = field(default_factory=dict)
    found: list[Found] = field(default_factory=list)


@dataclass(frozen=True)
class Where:
    """This host, the named hosts, or first this host and then the others. `hosts`: names; `each`: ranks per host."""

    here: bool
    hosts: tuple[str, ...] = ()
    each: int = 0


def _where(args: argparse.Namespace, programs: Programs, cpus: int) -> Where:
    if args.hosts:
        return Where(False, tuple(args.hosts), max(args.hosts.values()) or cpus)
    if peers.in_allocation(os.environ):
        hosts = tuple(peers.names_of_hosts(programs, ()))
        return Where(True, hosts if len(hosts) > 1 else (), cpus)
    return Where(True)


def _wanted(args: argparse.Namespace) -> tuple[bool, bool]:
    """Returns whether messages, and whether collectives, are to be measured."""
    named = args.operations is not None or args.collectives
    return args.messages or not named, named or not args.messages


def _messages(args: argparse.Namespace, programs: Programs, where: Where, work: Work) -> Messages:
    trials = messages.trials(peers.of_this_host(), args.device, False) if where.here else []
    if where.hosts:
        key = json.dumps(["delays", list(where.hosts)])
        measured = work.do("delays between hosts", key, lambda: peers.delays(programs, where.hosts))
        trials += messages.trials(peers.of_hosts(measured, where.hosts), args.device, True)
    times = _QUICK_TIMES if args.quick else _TIMES
    if args.quick:
        trials = [replace(trial, values=trial.values[-1:]) for trial in trials]
    return Messages(trials, args.rounds, messages.timer(programs, times), times)


def _collectives(args: argparse.Namespace, programs: Programs, where: Where, known: dict) -> Collectives:
    operations = args.operations or OPERATIONS
    cpus = known["machine"]["cpus"]
    memories = ("host", "device") if args.device else ("host",)
    ranks = {"host": args.ranks, "device": args.device_ranks}
    groups = collectives.groups_here(operations, {memory: [2] if args.quick else ranks[memory] for memory in memories}, cpus) if where.here else []
    if where.hosts:
        each = sorted({1, where.each}) if where.here or not args.ranks else args.ranks
        groups += collectives.groups_of_hosts(operations, len(where.hosts), each, cpus, memories)
    sizes = [8, 4096] if args.quick else [size for size in SIZES if size <= args.largest]
    plan = Plan(sizes, args.rounds, _QUICK_TIMES if args.quick else _TIMES, where.hosts)
    names = {group: [DEFAULT, *candidates(known["algorithms"][group.operation], group)] for group in groups}
    return Collectives(names, plan, collectives.timer(programs, plan))


def _measure(args: argparse.Namespace, programs: Programs, known: dict, work: Work) -> Result:
    wants_messages, wants_collectives = _wanted(args)
    where = _where(args, programs, known["machine"]["cpus"])
    of_messages = _messages(args, programs, where, work) if wants_messages else Messages((), 1, lambda *_: 0.0)
    of_collectives = _collectives(args, programs, where, known) if wants_collectives else Collectives({}, Plan([], 0, ()), lambda *_: {})
    work.progress = Progress([*of_messages.steps(), *of_collectives.steps()])
    work.progress.later = of_messages.likely() + of_collectives.likely()
    result = Result()
    result.found = of_messages.measure(work)
    result.chosen = of_collectives.measure(work)
    work.progress.finish()
    return result


@dataclass(frozen=True)
class Places:
    """Paths of the files; None: the file is not written."""

    rows: Path | None
    messages: Path | None

    @property
    def first(self) -> Path | None:
        return self.rows or self.messages

    def beside(self, suffix: str) -> Path | None:
        return files.beside(self.first, suffix) if self.first else None


def _places(args: argparse.Namespace, known: dict) -> Places:
    """`--output` names the file for rows or, if there are no rows, the file for messages."""
    if args.dry_run:
        return Places(None, None)
    wants_messages, wants_collectives = _wanted(args)
    usual = known["tuning_file"]["path"], known["messages"]["path"]
    rows = args.output or (Path(usual[0]) if usual[0] else None)
    if rows is None:
        raise Failed("HEADRACE_TUNING_FILE says that there is to be none; name a file with --output")
    of_messages = files.beside(rows, ".messages") if args.output and wants_collectives else args.output or Path(usual[1])
    return Places(rows if wants_collectives else None, of_messages if wants_messages else None)


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _write(places: Places, known: dict, result: Result, command: str, plots: bool) -> None:
    if places.messages:
        machine, version = known["messages"]["machine"], known["version"]
        files.put(places.messages, messages.text(result.found, files.text_before(places.messages), machine, version, f"{command}, {_now()}"))
        print(f"written to {places.messages}")
    if places.rows:
        before = files.rows_before(places.rows, known["machine"], known["version"])
        files.write_rows(places.rows, {"format": files.FORMAT, "version": known["version"], "date": _now(), "command": command,
                                       "machine": known["machine"], "rows": merged(before, result.chosen)})
        print(f"written to {places.rows}")
    if plots and places.first and (drawn := show.picture(result.chosen, result.found)):
        files.put(places.beside(".svg"), drawn)
        print(f"picture: {places.beside('.svg')}")


def _say(result: Result, work: Work) -> None:
    """Reports failures and findings; raises Failed if nothing was found."""
    for failure in work.failures:
        print(f"headrace tune: left out: {failure}", file=sys.stderr)
    if not result.chosen and not result.found:
        raise Failed("nothing could be measured")
    if result.found:
        print(show.messages(result.found), end="\n\n")
    if result.chosen:
        print(show.collectives(result.chosen), end="\n\n")


def tune(args: argparse.Namespace, words: list[str]) -> int:
    programs = locate(args.build or Path(sys.prefix))
    known = selection(programs)
    places = _places(args, known)
    for path in (places.rows, places.messages):
        files.fit(path)
    part = places.beside(".part")
    journal = Journal(part, {"format": 1, "version": known["version"], "machine": known["machine"]}, args.afresh)
    work = Work(journal)
    if journal.found:
        print(f"headrace tune: goes on with {len(journal.found)} measurements of {part} (--afresh: not)", file=sys.stderr)
    try:
        result = _measure(args, programs, known, work)
        _say(result, work)
        _write(places, known, result, " ".join(["headrace tune", *words]), not args.no_plot)
    except KeyboardInterrupt:
        kept = len(journal.found) if part else 0
        journal.close(remove=False)
        raise KeyboardInterrupt(f"; {kept} measurements are in {part}, with which the same command goes on" if kept else "") from None
    except BaseException:
        journal.close(remove=False)
        raise
    journal.close(remove=True)
    return 0
