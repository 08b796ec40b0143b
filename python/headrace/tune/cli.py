"""The command line of `headrace tune`, its table, and the file."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import signal
import statistics
import sys
import tempfile
from pathlib import Path

from headrace.bench import libraries
from headrace.bench.child import Failed
from headrace.bench.figure import size_text
from headrace.bench.programs import Programs, locate
from headrace.tune import messages
from headrace.tune.choose import DEFAULT, Choice, Group, choose, rows, winners
from headrace.tune.measure import OPERATIONS, Outcome, Plan, candidates, measure, selection

DESCRIPTION = """Measures each algorithm of each collective on this machine, and writes the tuning file, which programs
use from then on. The built-in choice stays where no algorithm is faster by 5 % and by more than the rounds differ;
what would change is measured again in as many rounds. With --messages: the limits of messages instead.
Leave the machine alone meanwhile; it takes some minutes."""
SIZES = (8, 64, 512, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20)
FORMAT = 1


def _size(text: str) -> int:
    shift = {"K": 10, "M": 20, "G": 30}.get(text[-1:].upper(), 0)
    digits = text[:-1] if shift else text
    if not digits.isdigit() or int(digits) << shift < SIZES[0]:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size of at least {SIZES[0]}; sizes are like 4096, 64K, 1M")
    return int(digits) << shift


def _ranks(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isdigit() and int(part) >= 2 for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers of ranks, each 2 or more")
    return sorted({int(part) for part in parts})


def _operations(text: str) -> list[str]:
    names = list(dict.fromkeys(text.split(",")))
    if unknown := [name for name in names if name not in OPERATIONS]:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: no operation to tune; there are {', '.join(OPERATIONS)}")
    return names


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="headrace tune", description=DESCRIPTION)
    cores = libraries.cores()
    parser.add_argument("--operations", type=_operations, metavar="LIST", help=f"({','.join(OPERATIONS)})")
    parser.add_argument("--ranks", type=_ranks, metavar="LIST", default=sorted({2, max(2, cores), 4 * cores}),
                        help="numbers of ranks (2, one for each core, four for each core)")
    parser.add_argument("--largest", type=_size, metavar="SIZE", default=1 << 20, help="of the larger buffer (1M)")
    parser.add_argument("--device", action="store_true", help="GPU buffers, too")
    parser.add_argument("--messages", action="store_true", help="the limits of messages (eager, single copy, chunks) of two ranks")
    parser.add_argument("--hosts", metavar="A,B", default="", help="with --messages: those between these two hosts, reached by ssh")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="each algorithm once in each (5)")
    parser.add_argument("--quick", action="store_true", help="two sizes, two ranks, few repetitions: to see it work")
    parser.add_argument("--output", type=Path, metavar="FILE", help="(where programs look for it)")
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    parser.add_argument("--build", type=Path, metavar="DIR", help="build directory or prefix (this installation)")
    args = parser.parse_args(argv)
    if args.rounds < 1:
        parser.error("--rounds is at least 1")
    if args.hosts and not args.messages:
        parser.error("--hosts goes with --messages")
    if args.hosts and len(args.hosts.split(",")) != 2:
        parser.error("--hosts names two, separated by a comma")
    return args


def _groups(args: argparse.Namespace, cpus: int) -> list[Group]:
    ranks = [2] if args.quick else args.ranks
    return [Group(operation, number, number > cpus, memory) for memory in ("host", *(("device",) if args.device else ()))
            for operation in args.operations or OPERATIONS for number in ranks]


def _plan(args: argparse.Namespace) -> Plan:
    if args.quick:
        return Plan([8, 4096], args.rounds, ("--iters", "5", "--warmup", "1", "--reps", "2"))
    return Plan([size for size in SIZES if size <= args.largest], args.rounds, ("--reps", "5", "--seconds", "1"))


def report(chosen: dict[Group, list[Choice]]) -> str:
    """What changes, as a table."""
    lines = [f"{'operation':<22}{'memory':<8}{'ranks':>5}  {'bytes':<22}{'instead of the built-in':<26}time"]
    for group, choices in chosen.items():
        start = 0
        while start < len(choices):
            end = start
            while end + 1 < len(choices) and choices[end + 1].algorithm == choices[start].algorithm:
                end += 1
            first, last = choices[start], choices[end]
            if first.algorithm != DEFAULT:
                span = size_text(first.bytes) + (f" to {size_text(last.bytes)}" if end > start else "")
                ratio = statistics.median(choice.ratio for choice in choices[start:end + 1])
                lines.append(f"{group.operation:<22}{group.memory:<8}{group.ranks:>5}  {span:<22}{first.algorithm:<26}"
                             f"x {ratio:.2f}")
            start = end + 1
    return "\n".join(lines) if len(lines) > 1 else "The built-in choice is the best everywhere."


def write(path: Path, content: dict) -> None:
    """A row a line, so that messages and people find it."""
    head = {key: value for key, value in content.items() if key != "rows"}
    table = ",\n".join("  " + json.dumps(row) for row in content["rows"])
    text = json.dumps(head, indent=1)[:-2] + ',\n "rows": [' + (f"\n{table}\n " if table else "") + "]\n}\n"
    _put(path, text)


def _put(path: Path, text: str) -> None:
    """All of it, or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=path.name + ".", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _measured(programs: Programs, groups: list[Group], algorithms: dict[str, list[dict]],
              plan: Plan) -> tuple[dict[Group, list[Choice]], list[str]]:
    """What is best, of all algorithms in the first rounds and still of those in as many more; and what failed."""
    outcome = Outcome()
    names = {group: [DEFAULT, *candidates(algorithms[group.operation], group.memory)] for group in groups}
    measure(programs, names, plan, outcome)
    again = winners({group: choose(times) for group, times in outcome.times.items()})
    if again:
        measure(programs, again, plan, outcome)
    return {group: choose({name: of_name for name, of_name in times.items() if name in again.get(group, (DEFAULT,))})
            for group, times in outcome.times.items()}, outcome.failures


def tune(args: argparse.Namespace, words: list[str]) -> int:
    programs = locate(args.build or Path(sys.prefix))
    known = selection(programs)
    path = args.output or (Path(known["tuning_file"]["path"]) if known["tuning_file"]["path"] else None)
    if path is None and not args.dry_run:
        raise Failed("HEADRACE_TUNING_FILE says that there is to be none; name a file with --output")
    chosen, failures = _measured(programs, _groups(args, known["machine"]["cpus"]), known["algorithms"], _plan(args))
    for failure in failures:
        print(f"headrace tune: left out: {failure}", file=sys.stderr)
    if not chosen:
        raise Failed("nothing could be measured")
    print(report(chosen))
    if args.dry_run:
        return 0
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    write(path, {"format": FORMAT, "version": known["version"], "date": date,
                 "command": " ".join(["headrace tune", *words]), "machine": known["machine"], "rows": rows(chosen)})
    print(f"written to {path}")
    return 0


def tune_messages(args: argparse.Namespace, words: list[str]) -> int:
    programs = locate(args.build or Path(sys.prefix))
    known = selection(programs)
    state = known["messages"]
    path = args.output or (Path(state["path"]) if state["path"] else None)
    if path is None and not args.dry_run:
        raise Failed("HEADRACE_TUNING_FILE says that there is to be none; name a file with --output")
    hosts = tuple(filter(None, args.hosts.split(",")))
    arguments = ("--iters", "5", "--warmup", "1", "--reps", "2") if args.quick else ("--reps", "5", "--seconds", "1")
    found, failures = messages.measure(messages.trials(hosts, args.device), args.rounds, messages.timer(programs, hosts, arguments))
    for failure in failures:
        print(f"headrace tune: left out: {failure}", file=sys.stderr)
    if not found:
        raise Failed("nothing could be measured")
    print(messages.report(found))
    if args.dry_run:
        return 0
    before = path.read_text() if path.is_file() and not state["left_out"] else ""
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    _put(path, messages.text(found, before, state["machine"], known["version"], f"{' '.join(['headrace tune', *words])}, {date}"))
    print(f"written to {path}")
    return 0


def _interrupted(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def main(argv: list[str]) -> int:
    args = _arguments(argv)
    signal.signal(signal.SIGTERM, _interrupted)  # what was started is ended, what was begun is removed
    try:
        return (tune_messages if args.messages else tune)(args, argv)
    except Failed as failed:
        print(f"headrace tune: {failed}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"headrace tune: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("headrace tune: interrupted; nothing was written", file=sys.stderr)
        return 130
