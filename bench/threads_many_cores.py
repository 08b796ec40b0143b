#!/usr/bin/env python3
"""Measures threads that communicate concurrently on a machine with many cores, compared with other libraries.

    bench/threads_many_cores.py BUILD OUT.json
    bench/threads_many_cores.py BUILD OUT.json --peers DIR mpich,openmpi,impi
    bench/threads_many_cores.py BUILD OUT.json --threads 1,2,4,8,16 --runs 3 --seconds 600

Two ranks. Rows: latency and rate of 8 B with a communicator for each thread, the rate with one communicator for all
threads and separate tags, the rate of as many processes as threads, and the rates of a put of 8 B with a flush, and of
MPI_Fetch_and_op with a flush, with a window for each thread. All ranks and threads are bound alike: the
launchers bind nothing, and each thread binds itself to a separate core, in rank order (--bind-threads). --rows selects
rows by the beginnings of their names.
Libraries take turns in each of --runs rounds; a figure is the median of its rounds. DIR holds the peers as `headrace
bench --vs` installs them: DIR/mpich, DIR/openmpi, DIR/impi. MPICH runs with as many virtual interfaces as threads
(MPIR_CVAR_CH4_NUM_VCIS), Intel MPI with its thread split. OUT.json is written after each job; jobs for which no time is
left are named at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from headrace.bench import libraries, programs  # noqa: E402 (the path comes first)
from headrace.bench.child import Failed  # noqa: E402

QUICK = ("--sizes", "8", "--reps", "10", "--seconds", "1", "--json", "-")
JOB_SECONDS = 60
LATENCY, RATE, ONE, PROCESSES = "latency, us", "rate, M/s", "one communicator, M/s", "as many processes, M/s"
PUT, FETCH = "put, M/s", "fetch and op, M/s"
ROWS = {LATENCY: ("threads", "--bind-threads"), RATE: ("threads", "--bind-threads", "--rate"),
        ONE: ("threads", "--bind-threads", "--rate", "--one-communicator"), PROCESSES: ("message_rate",),
        PUT: ("one_sided", "--bind-threads", "--only", "put"), FETCH: ("one_sided", "--bind-threads", "--only", "fetch_and_op")}
Figures = dict[str, list[float]]  # medians of each round, by "row/threads"


def settings(name: str, threads: int) -> dict[str, str]:
    """Returns the settings that a user of that library would choose for threads."""
    if name == "mpich":
        return {"MPIR_CVAR_CH4_NUM_VCIS": str(min(threads, 64)), "MPIR_CVAR_ASYNC_PROGRESS": "0"}
    if name == "impi":
        return {"I_MPI_THREAD_SPLIT": "1", "I_MPI_THREAD_RUNTIME": "generic", "I_MPI_THREAD_MAX": str(threads), "I_MPI_PIN": "0"}
    return {}


def command(library: libraries.Library, directory: Path, row: str, threads: int) -> list[str]:
    """Returns the command of a job. The launchers bind processes to a core each, and do not bind ranks with threads."""
    name, *options = ROWS[row]
    program = str(directory / name)
    if row == PROCESSES:
        return [*library.launch(2 * threads, False), program, *QUICK]
    return [*library.launch(2, True), program, *options, "--threads", str(threads), *QUICK]


def run(library: libraries.Library, words: list[str], environment: dict[str, str], left: float) -> float:
    env = os.environ | library.environment(False) | environment
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=max(1, min(JOB_SECONDS, left)), check=True)
    return float(json.loads(done.stdout)["rows"][0]["median"])


def median(figures: Figures, row: str, threads: int) -> float | None:
    values = figures.get(f"{row}/{threads}")
    return statistics.median(values) if values else None


def table(found: dict[str, Figures], rows: list[str], counts: list[int]) -> None:
    for row in rows:
        print(f"{row:26s}" + "".join(f"{count:>10d}" for count in counts))
        for name, figures in found.items():
            values = [median(figures, row, count) for count in counts]
            print(f"  {name:24s}" + "".join(f"{'' if value is None else f'{value:.4g}':>10s}" for value in values))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--peers", nargs=2, metavar=("DIR", "NAMES"), default=None)
    parser.add_argument("--against", type=Path, metavar="BUILD", help="another build of Headrace, called before")
    parser.add_argument("--threads", default="1,2,4,8,16", metavar="N,N,...")
    parser.add_argument("--rows", default="", metavar="NAME,...")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=540)
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    counts = [int(each) for each in given.threads.split(",")]
    rows = [row for row in ROWS if row.startswith(tuple(given.rows.split(",")))]
    most = len(os.sched_getaffinity(0)) // 2
    if max(counts) > most:
        print(f"two ranks have {most} cores each: threads share them from {most + 1} on")
    measured = [libraries.headrace(programs.locate(given.build))]
    if given.against:
        measured.append(libraries.headrace(programs.locate(given.against), "before"))
    if given.peers:
        measured += [libraries.find_peer(name, Path(given.peers[0]).resolve()) for name in given.peers[1].split(",")]
    all_libraries = [(library, libraries.build(library, sorted({ROWS[row][0] for row in rows}))) for library in measured]
    found: dict[str, Figures] = {library.name: {} for library, _ in all_libraries}
    missing = []
    for _ in range(given.runs):
        for row in rows:
            for threads in counts:
                if row == PROCESSES and threads > most:
                    continue
                for library, directory in all_libraries:
                    what = f"{library.name}, {row}, {threads} threads"
                    left = end - time.monotonic()
                    if left < 2:
                        missing.append(f"{what}: no time was left")
                        continue
                    try:
                        value = run(library, command(library, directory, row, threads), settings(library.name, threads), left)
                    except (subprocess.SubprocessError, json.JSONDecodeError, KeyError, IndexError) as error:
                        missing.append(f"{what}: {str(error).splitlines()[0][-160:]}")
                        continue
                    found[library.name].setdefault(f"{row}/{threads}", []).append(value)
                    given.out.write_text(json.dumps(found, indent=1), encoding="utf-8")
    table(found, rows, counts)
    print("\n".join(f"missing: {text}" for text in missing))
    return 1 if missing else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failed:
        sys.exit(f"threads_many_cores.py: {failed}")
