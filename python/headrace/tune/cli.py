"""The command line of `headrace tune`."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from headrace import counters
from headrace.bench import libraries, nccl
from headrace.bench.child import Failed
from headrace.command import Parser
from headrace.tune import collectives, explain, run
from headrace.tune.collectives import OPERATIONS
from headrace.tune.run import SIZES

DESCRIPTION = """Measures message limits and every algorithm of every collective on this machine, or between hosts, and writes the
files that programs use from then on. The built-in choice remains unless another one is faster by 5 % and by more than the rounds differ;
changes are confirmed by a second measurement. The machine should be idle meanwhile. An interrupted run continues where it stopped."""


def _size(text: str) -> int:
    shift = {"K": 10, "M": 20, "G": 30}.get(text[-1:].upper(), 0)
    digits = text[:-1] if shift else text
    if not digits.isdigit() or int(digits) << shift < SIZES[0]:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size of at least {SIZES[0]}; sizes are like 4096, 64K, 1M")
    return int(digits) << shift


def _ranks(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isdigit() and int(part) >= 1 for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers of ranks")
    return sorted({int(part) for part in parts})


def _operations(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    if unknown := [name for name in names if name not in OPERATIONS]:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: no operation to tune; there are {', '.join(OPERATIONS)}")
    return names


def _hosts(text: str) -> dict[str, int]:
    """Parses host names and the number of ranks per host; 0 if it is not given."""
    found: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, number = part.partition(":")
        if not name or (number and not number.isdigit()) or name in found:
            raise argparse.ArgumentTypeError(f"'{part}' is not a host, or one twice; hosts are like a,b:4")
        found[name] = int(number or 0)
    if len(found) < 2:
        raise argparse.ArgumentTypeError(f"'{text}' are not two hosts or more, separated by commas")
    return found


def define(parser: Parser) -> None:
    parser.set_defaults(execute=execute)
    parser.check = _check
    parser.description = DESCRIPTION
    parser.add_argument("--messages", action="store_true", help="tune only the message limits (eager, single copy, chunks), with two ranks")
    parser.add_argument("--collectives", action="store_true", help="tune only the collectives; with --messages as well, or with neither option, both are tuned")
    parser.add_argument("--operations", type=_operations, metavar="LIST", help=f"tune only these collectives ({','.join(OPERATIONS)})")
    parser.add_argument("--hosts", type=_hosts, metavar="A,B:N", help="tune communication between these hosts, reached by ssh, with up to N ranks on each "
                        "(number of its cores). In a Slurm or PBS job on several nodes, this is done automatically, after a single host")
    parser.add_argument("--ranks", type=_ranks, metavar="LIST",
                        help="numbers of ranks for collectives (2, one per core, four per core; on GPU buffers 2, 3, 4, one per GPU); with --hosts, on each host (1, N)")
    parser.add_argument("--largest", type=_size, metavar="SIZE", default=1 << 20, help="largest size of the larger buffer of a collective (1M)")
    parser.add_argument("--device", action="store_true", help="also tune GPU buffers")
    parser.add_argument("--rounds", type=int, default=5, metavar="N",
                        help="rounds, each of which measures every value and algorithm once (5; fewer than 3 hardly distinguish a gain from noise)")
    parser.add_argument("--quick", action="store_true", help="use two sizes, and few values, ranks and repetitions, to see it work")
    parser.add_argument("--afresh", action="store_true", help="measure everything again: do not continue an interrupted run")
    parser.add_argument("--output", type=Path, metavar="FILE", help="tuning file to write (the one that programs read)")
    parser.add_argument("--no-plot", action="store_true", help="write no picture next to it")
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    parser.add_argument("--build", type=Path, metavar="DIR", help="build directory or prefix (this installation)")
    parser.add_argument("--explain", nargs=argparse.REMAINDER, metavar="RUN|PROGRAM",
                        help="measure nothing: show which rows and limits apply to a run saved by mpiexec --save-counters, or to a "
                        "program with its options of mpiexec (-n 4 ./program), which is run for it")


def _check(parser: Parser, args: argparse.Namespace) -> None:
    if args.explain is not None and not args.explain:
        parser.error("--explain requires a file of mpiexec --save-counters, or a program")
    if args.rounds < 1:
        parser.error("--rounds is at least 1")
    args.device_ranks = args.ranks
    if args.ranks is None:
        cores = libraries.cores()
        args.ranks = [] if args.hosts else sorted({2, max(2, cores), 4 * cores})
        args.device_ranks = collectives.ranks_of_devices(nccl.devices()) if args.device and not args.hosts else []
    elif not args.hosts and args.ranks[0] < 2:
        parser.error(f"--ranks: '{args.ranks[0]}' is not a number of ranks of 2 or more")


def _interrupted(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def execute(args: argparse.Namespace) -> int:
    signal.signal(signal.SIGTERM, _interrupted)  # ends started processes; the run can be resumed
    try:
        if args.explain is not None:
            return explain.explain(args.build or Path(sys.prefix), args.explain)
        return run.tune(args, args.words)
    except (Failed, counters.Problem) as failed:
        print(f"headrace tune: {failed}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"headrace tune: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as ended:
        print(f"headrace tune: interrupted; nothing was written{ended}", file=sys.stderr)
        return 130
