"""Steps of halo3d with and without the exchange, for several sizes of a rank's block and numbers of steps.

Runs halo3d on device memory, all cases interleaved, and prints a row for each size, number of steps and pattern:
microseconds per step, with and without the exchange, and their ratio, as medians over the rounds.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import shlex
import statistics
import sys
import time
from pathlib import Path

from headrace.bench.child import Failed, run_json
from headrace.bench.figure import number
from headrace.bench.grid import grid
from headrace.bench.nccl import devices
from headrace.bench.programs import locate

COLUMNS = ["points a rank", "steps", "pattern", "a step, us", "spread", "without the exchange, us", "ratio"]


def procs(ranks: int) -> str:
    """Returns the ranks along each axis: a square in x and y, or a row, so that messages along z go to the rank itself."""
    across = max(n for n in range(1, int(ranks**0.5) + 1) if ranks % n == 0)
    return f"{ranks // across},{across},1"


class Cases:
    """Reports of all rounds, by size, steps and pattern."""

    def __init__(self):
        self._times: dict[tuple[int, int, str], list[tuple[float, float]]] = {}

    def add(self, report: dict) -> None:
        for result in report["results"]:
            if not result["valid"]:
                raise Failed(f"halo3d: pattern {result['pattern']} of {report['local'][0]}^3 points gave wrong values")
            key = (report["local"][0], report["steps"], result["pattern"])
            scale = 1e6 / report["steps"]
            self._times.setdefault(key, []).append((result["seconds"] * scale, result["alone"] * scale))

    def rows(self) -> list[list[str]]:
        rows = []
        for (local, steps, pattern), times in self._times.items():
            whole, alone = zip(*times)
            ratio = statistics.median(one / other for one, other in times)  # each pair of times is from one run
            rows.append([f"{local}^3", str(steps), pattern, number(statistics.median(whole)), f"{number(min(whole))} to {number(max(whole))}",
                         number(statistics.median(alone)), f"{ratio:.3f}"])
        return rows


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/halo3d.py", description=__doc__)
    parser.add_argument("--build", type=Path, metavar="DIR", help="build directory or prefix of Headrace (this installation)")
    parser.add_argument("--mpiexec", type=Path, help="mpiexec to use instead of the one there")
    parser.add_argument("--ranks", type=int, help="number of ranks, one per GPU (all GPUs)")
    parser.add_argument("--local", type=_numbers, default=[300, 128, 64], metavar="LIST", help="points along each edge of a rank's block (300,128,64)")
    parser.add_argument("--steps", type=_numbers, default=[200, 1000], metavar="LIST", help="numbers of steps (200,1000)")
    parser.add_argument("--patterns", default="overlap-fused,overlap-neighbor,isend-irecv", metavar="LIST",
                        help="patterns (overlap-fused,overlap-neighbor,isend-irecv)")
    parser.add_argument("--warm", action="store_true", help="exchange before the measurement, so that it does not include first messages")
    parser.add_argument("--rounds", type=int, default=5, help="number of interleaved rounds of all cases (5)")
    parser.add_argument("--limit", type=int, default=110, help="seconds after which no further round begins (110)")
    parser.add_argument("--timeout", type=int, default=60, help="time limit of a run, in seconds (60)")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table to this file, for `bench/page.py keep`")
    args = parser.parse_args(argv)
    args.words = sys.argv[1:] if argv is None else argv
    return args


def _measure(args: argparse.Namespace, default_build: Path | None) -> dict:
    """Returns the table in the format of docs/performance/data. Raises Failed if nothing was measured."""
    programs = locate(args.build or default_build or Path(sys.prefix), args.mpiexec)
    ranks = args.ranks or devices()
    if ranks < 1:
        raise Failed("no GPU: there is no CUDA driver (libcuda.so.1) and no HIP runtime (libamdhip64.so) with a device here")
    began = f"{datetime.datetime.now():%Y-%m-%d %H:%M}"
    deadline = time.monotonic() + args.limit
    cases, done, device = Cases(), 0, ""
    while done < args.rounds and (done == 0 or time.monotonic() < deadline):
        for local in args.local:
            for steps in args.steps:
                # The three steps of the check would map the buffers before timing starts. All values are checked at the
                # end anyway.
                check = [] if args.warm else ["--no-identity-check"]
                words = programs.ranks(ranks, "halo3d", "--device", "cuda", "--procs", procs(ranks), "--local", local, "--steps", steps,
                                       "--baseline", "--pattern", args.patterns, *check)
                # mpiexec ends the job even if this process is killed.
                report = run_json([words[0], "--timeout", args.timeout, *words[1:]], args.timeout + 10, programs.environment())
                cases.add(report)
                device = report["device"]
        done += 1
    return {"date": began, "machine": f"{ranks} ranks as {procs(ranks).replace(',', ' x ')}, {device}, Linux {platform.release()}",
            "command": f"bench/halo3d.py {shlex.join(args.words)}".strip(), "runs": done, "columns": COLUMNS, "rows": cases.rows()}


def main(argv: list[str] | None = None, default_build: Path | None = None) -> int:
    args = _arguments(argv)
    try:
        kept = _measure(args, default_build)
    except Failed as failed:
        print(f"halo3d.py: {failed}", file=sys.stderr)
        return 2
    print(f"{kept['date']}, {kept['machine']}; medians of {kept['runs']} rounds\n")
    print(grid(kept["columns"], kept["rows"], args.markdown))
    if args.json:
        args.json.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    return 0
