"""`headrace bench`: the host benchmarks, separately or (--vs) compared with other libraries; with --gpu the GPU set."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import shlex
import shutil
import statistics
import sys
from pathlib import Path

from headrace import command
from headrace.bench import gpu, libraries, plot, suite, summary
from headrace.bench.bare import Bare
from headrace.bench.child import Failed
from headrace.bench.compare import Plan, Result, compare, pinning_warning, wandering_warning
from headrace.bench.libraries import Library
from headrace.bench.perftest import Perftest
from headrace.bench.programs import Programs, locate
from headrace.command import Parser

DESCRIPTION = """Runs the host benchmarks and prints tables of medians.

With --vs, other MPI libraries run the same benchmarks, interleaved: each is installed from the package index into a separate cache, and
runs the same binary if it has the standard ABI, otherwise a rebuilt one. Ratios are Headrace's figure over the best peer's at that size, formed
within each run; their median and spread are printed. With --gpu as the first option, the GPU set runs; see `headrace bench --gpu --help`."""


def define(parser: Parser) -> None:
    parser.set_defaults(execute=run)
    parser.check = _check
    parser.description = DESCRIPTION
    parser.epilog = f"benchmarks: {', '.join(suite.BENCHMARKS)}\ngroups: {', '.join(suite.GROUPS)}"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_other("--gpu", gpu.define)
    parser.add_argument("benchmarks", nargs="*", metavar="BENCHMARK", help="names or groups (a set of all kinds)")
    parser.add_argument("--benchmarks", dest="listed", metavar="LIST", help="the same as a comma-separated list")
    parser.add_argument("--vs", metavar="LIST",
                        help=f"peers: {', '.join(libraries.PACKAGES)} (with --peers: those that are installed there)")
    parser.add_argument("--peers", type=Path, metavar="DIR",
                        help="directory in which peers are installed (~/.cache/headrace/peers)")
    parser.add_argument("--build", "--headrace", type=Path, metavar="DIR",
                        help="build directory or prefix of Headrace (this installation)")
    parser.add_argument("--against", type=Path, metavar="DIR",
                        help="another build of Headrace, such as an older one, which takes part as the peer `before`")
    parser.add_argument("--only", metavar="LIST", help="only these libraries (headrace is one)")
    parser.add_argument("--rebuild", action="store_true", help="build for each peer, even if the same binary would run")
    parser.add_argument("--ranks", type=int, default=2, help="number of ranks (2); if there are more than cores, none is bound")
    parser.add_argument("--sizes", help="sizes instead of each benchmark's own: 8,4K,1M")
    parser.add_argument("--mem", default="host", help="kind of memory: KIND or KIND,KIND, as for the programs (host)")
    parser.add_argument("--form", choices=("blocking", "nonblocking", "persistent"), default="blocking",
                        help="form of the collectives")
    parser.add_argument("--runs", "--reps", type=int, default=5, help="number of runs of each program with each library (5)")
    parser.add_argument("--samples", type=int, default=20, help="repetitions within a run (20)")
    parser.add_argument("--touch", action="store_true",
                        help="latency and collectives: write the data that is sent and read the data that arrives, within the measured time")
    parser.add_argument("--cores-apart", metavar="NS-NS",
                        help="two ranks: count only repetitions before and after which a single cache line took that long "
                             "from core to core; for virtual machines whose cores wander")
    parser.add_argument("--hosts", metavar="LIST",
                        help="run across these hosts, of which this one is the first, reached by ssh; ucx_perftest is the hardware limit")
    parser.add_argument("--wrap", metavar="COMMAND", help="command that starts each rank's program, such as 'nice -n -5'")
    parser.add_argument("--perftest", type=Path, metavar="FILE",
                        help="with --hosts: ucx_perftest (that of the UCX Python package that is found)")
    parser.add_argument("--hydra", type=Path, metavar="FILE", help="with --hosts: MPICH's mpiexec, to start Headrace's ranks")
    parser.add_argument("--validate", action="store_true", help="check every byte, outside the measured time")
    parser.add_argument("--timeout", type=int, default=120, help="time limit of a program, in seconds (120)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the tables and all reports to this file")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="write an SVG picture for each benchmark")


def _check(parser: Parser, args: argparse.Namespace) -> None:
    names = args.benchmarks + (args.listed.split(",") if args.listed else [])
    try:
        args.chosen = suite.expand(names or list(suite.DEFAULT))
        if args.sizes:
            suite.parse_sizes(args.sizes)
    except ValueError as error:
        parser.error(str(error))
    args.peer_names = [name for name in (args.vs or "").split(",") if name]
    if args.vs is None and args.peers:
        args.peer_names = [name for name in libraries.PACKAGES if libraries.is_installed(name, args.peers)]
    if unknown := [name for name in args.peer_names if name not in libraries.PACKAGES]:
        parser.error(f"no such peer: {', '.join(unknown)}; there are {', '.join(libraries.PACKAGES)}")
    if args.runs < 1 or args.samples < 1 or args.ranks < 1:
        parser.error("--runs, --samples and --ranks are at least 1")
    if args.touch and not any(b.touches for b in args.chosen):
        parser.error("--touch is for latency and the collectives, of which none is asked for")
    apart = re.fullmatch(r"([0-9]+)-([0-9]+)", args.cores_apart or "")
    if args.cores_apart and not (apart and 0 < int(apart[1]) <= int(apart[2])):
        parser.error(f"--cores-apart requires nanoseconds, at least and at most, like 45-150, not '{args.cores_apart}'")
    if args.hosts and len(args.hosts.split(",")) < 2:
        parser.error("--hosts requires at least two, separated by commas")
    if args.cores_apart and args.ranks != 2:
        parser.error(f"--cores-apart is for 2 ranks, not {args.ranks}")
    if args.ranks % 2 and (odd := [b.name for b in args.chosen if b.pairs]):
        parser.error(f"{', '.join(odd)} run on an even number of ranks, not {args.ranks}")


def _machine() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return (f"{(models or [platform.processor()])[0]}, {libraries.cores()} cores, Linux {platform.release()}, "
            f"load {os.getloadavg()[0]:.1f}")


def _peers(args: argparse.Namespace, failures: dict[str, str]) -> list[Library]:
    root = args.peers or libraries.cache() / "peers"
    found = []
    for name in args.peer_names:
        try:
            found.append(libraries.install_peer(name, root))
        except Failed as failed:
            failures[name] = str(failed)
    return found


def _programs(args: argparse.Namespace, chosen: list[Library], ours: Programs,
              failures: dict[str, str]) -> dict[str, Path]:
    """Returns the directory of each library's programs; adds libraries to `failures` if their programs cannot be built."""
    wanted = sorted({benchmark.program for benchmark in args.chosen})
    directories = {}
    for library in chosen:
        try:
            if library.name == "headrace" or (library.has_standard_abi() and not args.rebuild):
                directories[library.name] = ours.find(wanted[0]).parent
            else:
                directories[library.name] = libraries.build(library, wanted)
        except Failed as failed:
            failures[library.name] = str(failed)
    return directories


def _perftest(args: argparse.Namespace) -> Path:
    if args.perftest is not None:
        return args.perftest
    found = shutil.which("ucx_perftest") or next(
        (str(path) for place in sys.path if (path := Path(place) / "libucx/bin/ucx_perftest").is_file()), "ucx_perftest")
    return Path(found)


def _plots(directory: Path, results: list[Result], names: list[str], bare: Bare) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for result in results:
        if (sample := result.sample()) is None:
            continue
        for label in dict.fromkeys(label for label, _ in result.keys()):
            sizes = [bytes_ for other, bytes_ in result.keys() if other == label]
            lines = [plot.Line(name, [(bytes_, statistics.median(values)) for bytes_ in sizes
                                      if (values := result.medians(name, (label, bytes_)))]) for name in names]
            limit = [(bytes_, value) for bytes_ in sizes if (value := bare.of(result.benchmark.name, bytes_))]
            title = result.benchmark.name + (f": {label}" if label not in ("", result.benchmark.name) else "")
            if text := plot.svg(title, sample["unit"], [*lines, plot.Line("bare limit", limit, dashed=True)]):
                (directory / (re.sub(r"[^A-Za-z0-9]+", "-", title) + ".svg")).write_text(text)


def host(args: argparse.Namespace, default_build: Path | None) -> int:
    ours = locate(args.build or default_build or Path(sys.prefix))
    failures: dict[str, str] = {}
    before = [libraries.headrace(locate(args.against), "before")] if args.against else []
    chosen = [libraries.headrace(ours), *before, *_peers(args, failures)]
    if args.only:
        chosen = [library for library in chosen if library.name in args.only.split(",")]
    directories = _programs(args, chosen, ours, failures)
    chosen = [library for library in chosen if library.name in directories]
    if not chosen:
        raise Failed("no library to run: " + "; ".join(f"{name} {why}" for name, why in failures.items()))
    hosts = tuple(filter(None, (args.hosts or "").split(",")))
    plan = Plan(args.ranks, args.runs, args.timeout, args.sizes, args.form,
                ("--reps", str(args.samples), "--mem", args.mem, *(("--validate",) if args.validate else ()),
                 *(("--cores-apart", args.cores_apart) if args.cores_apart else ())), args.touch, hosts,
                tuple(shlex.split(args.wrap or "")))
    for library in chosen:
        library.hydra = args.hydra if library.name in ("headrace", "before") else None
    bare = Perftest(_perftest(args), hosts, args.sizes, plan.wrap) if hosts else Bare(ours, args.ranks, args.sizes, args.touch, args.cores_apart)
    began = datetime.datetime.now()
    lines = [f"{began:%Y-%m-%d}, {_machine()}, {args.ranks} ranks, medians of {args.runs} runs\n",
             f"    headrace bench {' '.join(args.words)}"]
    results = compare(args.chosen, chosen, directories, plan, bare)
    names = [library.name for library in chosen] + list(failures)
    summaries = []
    for result in results:
        result.failures |= failures
        summaries.append(summary.summarise(result, names, bare.of if bare.knows(result.benchmark) else None))
        lines.append(summary.table(summaries[-1], args.markdown))
    if results and (warning := pinning_warning(results[0], plan)):
        lines.append(warning)
    if warning := wandering_warning(bare.distances()):
        lines.append(warning)
    print("\n".join(lines))
    if args.plots:
        _plots(args.plots, results, names, bare)
    if args.json:
        args.json.write_text(json.dumps({
            "date": f"{began:%Y-%m-%d %H:%M}", "machine": _machine(), "command": f"headrace bench {shlex.join(args.words)}",
            "ranks": args.ranks, "runs": args.runs, "tables": summaries,
            "benchmarks": {r.benchmark.name: {"reports": r.reports, "failures": r.failures} for r in results}}, indent=1))
    return 1 if any("headrace" in result.failures for result in results) else 0


def main(argv: list[str], default_build: Path | None = None) -> int:
    args = command.parse("headrace bench", define, argv)
    return args.execute(args, default_build)


def run(args: argparse.Namespace, default_build: Path | None = None) -> int:
    try:
        return host(args, default_build)
    except Failed as failed:
        print(f"headrace bench: {failed}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
