"""MPI on device buffers compared with NCCL, both called from C++ with one process per GPU, and tables of their times.

Runs the program `nccl` with a rank for each GPU, finds NCCL in PyTorch's packages, and prints the ratios of all
operations, then each operation's times. Does not need PyTorch to run, only its package nvidia-nccl, or the system's
libnccl.so.2.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from headrace.bench.child import Failed, run
from headrace.bench.figure import number, size_text
from headrace.bench.grid import grid, strong
from headrace.bench.programs import Programs, locate
from headrace.doctor import amd

LIBRARY = "libnccl.so.2"
NOT_HERE = 5  # exit code of the program: no NCCL

# Rows of an operation's table: the name of each method. Methods that were not measured have no row.
TIMES = (("nccl_sync", "NCCL, synchronised after each call"), ("nccl_enqueued", "NCCL, enqueued"),
         ("nccl_graph", "NCCL, in a CUDA graph"), ("mpi", "Headrace"))
AFTER_A_KERNEL = (("kernel_nccl_sync", "after a kernel: NCCL, synchronised"),
                  ("kernel_nccl_enqueued", "after a kernel: NCCL, enqueued"),
                  ("kernel_nccl_graph", "after a kernel: NCCL, in a CUDA graph"),
                  ("kernel_mpi", "after a kernel and a synchronisation: Headrace"))
BARE = (("bare_push", "bare copies by the sender"), ("bare_pull", "bare copies by the receiver"))
KERNEL = (("kernel_sync", "an empty kernel, synchronised"), ("kernel_enqueued", "an empty kernel, enqueued"),
          ("kernel_graph", "an empty kernel, in a CUDA graph"))
RATIOS = (("mpi", "nccl_sync", "Headrace / NCCL synchronised"), ("mpi", "nccl_enqueued", "Headrace / NCCL enqueued"),
          ("mpi", "nccl_graph", "Headrace / NCCL in a graph"))
RATIOS_AFTER = (("kernel_mpi", "kernel_nccl_sync", "after a kernel: Headrace / NCCL synchronised"),
                ("kernel_mpi", "kernel_nccl_enqueued", "after a kernel: Headrace / NCCL enqueued"),
                ("kernel_mpi", "kernel_nccl_graph", "after a kernel: Headrace / NCCL in a graph"))

_FIND = """import importlib.util, pathlib
spec = importlib.util.find_spec("nvidia")
for root in spec.submodule_search_locations if spec else ():
    for file in sorted(pathlib.Path(root).glob("*/lib/libnccl.so.2")):
        print(file)
"""


def find_library() -> Path | str | None:
    """Returns NCCL's library: from this Python's packages, from those of the `python3` in PATH, or from the system;
    otherwise None."""
    for interpreter in dict.fromkeys(filter(None, (sys.executable, shutil.which("python3"), shutil.which("python")))):
        try:
            found = subprocess.run([interpreter, "-c", _FIND], capture_output=True, text=True, timeout=60, check=False).stdout.split("\n")
        except (OSError, subprocess.TimeoutExpired):
            continue
        if found[0]:
            return Path(found[0])
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    return LIBRARY


def required() -> Path | str:
    """Returns NCCL's library. Raises Failed if there is none."""
    if (library := find_library()) is None:
        raise Failed(f"no {LIBRARY}: neither in the packages of Python (pip install nvidia-nccl-cu13) nor where the loader looks")
    return library


def command(programs: Programs, ranks: int, library: Path | str | None, *arguments: object) -> list[str]:
    """Returns the command of the program, with NCCL or without it (`library` None)."""
    which = ["--nccl", library] if library else ["--without-nccl"]
    return programs.ranks(ranks, "nccl", *which, *arguments)


def devices() -> int:
    """Returns the number of GPUs that this process can see, NVIDIA's or else AMD's; 0 without a driver."""
    for libraries, start, ask in (("libcuda.so.1",), "cuInit", "cuDeviceGetCount"), (amd.NAMES, "hipInit", "hipGetDeviceCount"):
        for library in libraries:
            try:
                driver = ctypes.CDLL(library)
            except OSError:
                continue
            count = ctypes.c_int(0)
            if getattr(driver, start)(0) == 0 and getattr(driver, ask)(ctypes.byref(count)) == 0 and count.value > 0:
                return count.value
            break
    return 0


def operations(report: dict) -> list[dict]:
    """Returns one row for each operation and size in the program's report: the median of each method in us, and the
    spread of MPI's."""
    rows: dict[tuple[str, int], dict] = {}
    for row in report["rows"]:
        operation, way = row["label"].rsplit(" ", 1)
        one = rows.setdefault((operation, row["bytes"]), {"operation": operation, "bytes": row["bytes"]})
        one[way] = row["median"]
        if way == "mpi":
            one |= {"mpi_low": row["best"], "mpi_high": row["worst"]}
    return list(rows.values())


def _ratio(row: dict, ours: str, theirs: str) -> float | None:
    return row[ours] / row[theirs] if row.get(ours) and row.get(theirs) else None


def _ratio_text(value: float | None, markdown: bool) -> str:
    if value is None:
        return "-"
    return strong(f"{value:.2f}", markdown) if value > 1.005 else f"{value:.2f}"


def _bare(row: dict) -> float | None:
    return min((row[way] for way, _ in BARE if way in row), default=None)


def operation_table(rows: list[dict], markdown: bool) -> str:
    """Returns the table of one operation: a column for each size, rows for the methods and for the ratios."""
    lines = [[name, *(number(row[way]) if way in row else "-" for row in rows)]
             for way, name in (*TIMES, *AFTER_A_KERNEL, *BARE, *KERNEL) if any(way in row for row in rows)]
    for ours, theirs, name in (*RATIOS, *RATIOS_AFTER):
        values = [_ratio(row, ours, theirs) for row in rows]
        if any(values):
            lines.append([name, *(_ratio_text(value, markdown) for value in values)])
    if any(_bare(row) and "mpi" in row for row in rows):
        lines.append(["Headrace / the faster bare copies",
                      *(_ratio_text(row["mpi"] / bare if (bare := _bare(row)) and "mpi" in row else None, markdown) for row in rows)])
    return grid(["us", *(size_text(row["bytes"]) if row["bytes"] else "-" for row in rows)], lines, markdown)


def _sizes(rows: list[dict], ranks: int) -> list[tuple[int, set[int]]]:
    """Returns the given sizes, each with the size that was measured for it: a whole number of floats in `ranks` blocks."""
    found: list[tuple[int, set[int]]] = []
    for size in sorted({row["bytes"] for row in rows if row["bytes"]}):
        became = max(1, size // 4 // ranks) * ranks * 4
        if not any(size in others for _, others in found):
            found.append((size, {size, became}))
    return found


def summary_table(rows: list[dict], ranks: int, markdown: bool) -> str:
    """Returns the table of all operations: Headrace over NCCL, synchronised and in a graph; messages also over the
    faster bare copies."""
    sizes = _sizes(rows, ranks)
    lines = []
    for operation in dict.fromkeys(row["operation"] for row in rows if row["bytes"]):
        cells = []
        for _, became in sizes:
            row = next((row for row in rows if row["operation"] == operation and row["bytes"] in became), {})
            values = [_ratio(row, "mpi", "nccl_sync"), _ratio(row, "mpi", "nccl_graph")]
            if (bare := _bare(row)) and "mpi" in row:
                values.append(row["mpi"] / bare)
            cells.append(" / ".join(_ratio_text(value, markdown) for value in values) if any(values) else "-")
        lines.append([operation, *cells])
    return grid(["of NCCL synchronised / in a graph / bare", *(size_text(size) for size, _ in sizes)], lines, markdown)


def tables(kept: dict, names: list[str] | None, markdown: bool) -> str:
    """Returns the summary (`names` None), or the tables of operations. Raises KeyError for an operation that is not
    stored."""
    rows = kept["operations"]
    if names is None:
        return summary_table(rows, kept["ranks"], markdown)
    texts = []
    for name in names:
        found = [row for row in rows if row["operation"] == name]
        if not found:
            raise KeyError(f"operation {name}")
        texts.append((f"**{name}**" if markdown else name) + "\n\n" + operation_table(found, markdown))
    return "\n\n".join(texts)


def kept_run(report: dict, words: list[str], began: str) -> dict:
    """Returns the run in the format of docs/performance/data (bench/page.py)."""
    nccl = "without NCCL" if report["nccl"] == "none" else f"NCCL {report['nccl']} called from C++, multicast off"
    return {"date": began, "machine": f"{report['ranks']} ranks, {report['device']}, CUDA {report['driver']}, Linux {platform.release()}",
            "command": f"bench/nccl.py {shlex.join(words)}".strip(), "note": nccl, "runs": int(report["rounds"]),
            "ranks": report["ranks"], "operations": operations(report)}


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/nccl.py", description=__doc__)
    parser.add_argument("--build", type=Path, metavar="DIR", help="build directory or prefix of Headrace (this installation)")
    parser.add_argument("--mpiexec", type=Path, help="mpiexec to use instead of the one there")
    parser.add_argument("--ranks", type=int, help="number of ranks, one per GPU (all GPUs)")
    parser.add_argument("--sizes", help="sizes of the larger buffer, as for the program: 8,128K,1M")
    parser.add_argument("--operations", metavar="LIST", help="operations: allreduce,ring (all)")
    parser.add_argument("--ways", metavar="LIST", help="baselines: nccl_sync,mpi (all; `nccl --help` lists them)")
    parser.add_argument("--rounds", type=int, default=5, help="number of interleaved rounds of all baselines (5)")
    parser.add_argument("--milliseconds", type=int, default=3, help="duration of each batch (3)")
    parser.add_argument("--limit", type=int, default=110, help="seconds after which no further size begins (110)")
    parser.add_argument("--timeout", type=int, help="seconds after which the program is ended (60 more than --limit)")
    parser.add_argument("--nccl", type=Path, metavar="FILE", help=f"{LIBRARY} (of PyTorch's packages, or of the system)")
    parser.add_argument("--without-nccl", action="store_true", help="measure only MPI and plain copies")
    parser.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the run to this file, for `bench/page.py keep`")
    parser.add_argument("--tables", type=Path, metavar="FILE", help="measure nothing; print the tables of a run's --json")
    args = parser.parse_args(argv)
    args.words = sys.argv[1:] if argv is None else argv
    return args


def _program(args: argparse.Namespace, default_build: Path | None) -> tuple[list[str], dict[str, str]]:
    """Returns the command and its environment. Raises Failed if a part of it is missing."""
    programs = locate(args.build or default_build or Path(sys.prefix), args.mpiexec)
    try:
        library = None if args.without_nccl else args.nccl or required()
    except Failed as missing:
        raise Failed(f"{missing}; give its path with --nccl, or measure MPI alone with --without-nccl") from None
    ranks = args.ranks or devices()
    if ranks < 1:
        raise Failed("no GPU: there is no CUDA driver (libcuda.so.1) with a device here")
    words = command(programs, ranks, library, "--rounds", args.rounds, "--milliseconds", args.milliseconds, "--limit", args.limit)
    for option in ("sizes", "operations", "ways"):
        if value := getattr(args, option):
            words += [f"--{option}", value]
    return [words[0], "--timeout", str(args.timeout or args.limit + 60), *words[1:]], programs.environment()


def _measure(args: argparse.Namespace, default_build: Path | None) -> tuple[dict, int]:
    """Returns the run, as far as it got, and the program's exit code. Shows the program's lines as they arrive. Raises Failed."""
    words, environment = _program(args, default_build)
    began = f"{datetime.datetime.now():%Y-%m-%d %H:%M}"
    with tempfile.TemporaryDirectory(prefix="headrace-nccl-") as work:
        file = Path(work) / "result.json"
        code = subprocess.run([*words, "--json", str(file)], env={**os.environ, **environment}, stdin=subprocess.DEVNULL, check=False).returncode
        try:
            return kept_run(json.loads(file.read_text(encoding="utf-8")), args.words, began), code
        except (OSError, ValueError):
            raise Failed(f"the program nccl left no result; its exit code is {code}") from None


def main(argv: list[str] | None = None, default_build: Path | None = None) -> int:
    args = _arguments(argv)
    code = 0
    try:
        if args.tables:
            kept = json.loads(args.tables.read_text(encoding="utf-8"))
        else:
            kept, code = _measure(args, default_build)
    except (Failed, OSError, ValueError) as failed:
        print(f"nccl.py: {failed}", file=sys.stderr)
        return 2
    if args.json:
        args.json.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    names = list(dict.fromkeys(row["operation"] for row in kept["operations"]))
    print(f"\n{kept['date']}, {kept['machine']}, {kept['note']}; medians of {kept['runs']} rounds, us\n")
    if len(names) > 1:
        print(tables(kept, None, args.markdown) + "\n")
    print(tables(kept, names, args.markdown))
    return 1 if code else 0
