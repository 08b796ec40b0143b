#!/usr/bin/env python3
"""Measures collectives with the selected algorithms at many numbers of ranks, and finds cliffs.

    bench/many_cores.py BUILD OUT.json                      16 to 64 ranks, and 128 with two operations
    bench/many_cores.py BUILD OUT.json --peers DIR mpich,openmpi,impi     the same with other libraries in turns, and the
                                                            ratios to the best; DIR/mpich, ... as `headrace bench --vs` installs them
    bench/many_cores.py BUILD OUT.json --ranks 31,32,33 --fail    ends with 1 if there is a cliff

A cliff: an operation takes more than --factor times as long on n ranks as on the next smaller number, beyond what the
growth of n explains, or vice versa. OUT.json is written after each job; a run ends after --seconds at the latest and
reports what is missing.
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
from headrace.bench.figure import size_text  # noqa: E402

OPERATIONS = "barrier,bcast,reduce,allreduce,reduce_scatter_block,gather,scatter,allgather,alltoall"
SIZES = "8,512,4K,32K,256K,1M"
SHORT = ("barrier,allreduce", "8")  # operations and sizes measured with more ranks than cores
QUICK = ("--reps", "5", "--iters", "10", "--warmup", "3", "--seconds", "1", "--json", "-")
JOB_SECONDS = 30

Times = dict[tuple[str, int, int], list[float]]  # one median per run, keyed by operation, size and number of ranks


class Measured:
    """The runs of one library."""

    def __init__(self, library: libraries.Library, program: Path):
        self.library, self.program = library, program
        self.times: Times = {}
        self.missing: list[str] = []

    def run(self, ranks: int, cores: int, operations: str, sizes: str, left: float) -> None:
        ours = self.library.name == "headrace"
        launch = [str(self.library.mpiexec), "--timeout", str(JOB_SECONDS), "-n", str(ranks)] if ours else \
            self.library.launch(ranks, ranks > cores)
        command = [*launch, str(self.program), "--op", operations, "--sizes", sizes, *QUICK]
        environment = os.environ | self.library.environment(ranks > cores)
        try:
            done = subprocess.run(command, env=environment, capture_output=True, text=True,
                                  timeout=max(1, min(JOB_SECONDS + 5, left)), check=True)
            rows = json.loads(done.stdout)["rows"]
        except (subprocess.SubprocessError, json.JSONDecodeError) as error:
            self.missing.append(f"{self.library.name}, {ranks} ranks: {str(error).splitlines()[0][-120:]}")
            return
        wanted = [bytes_of(text) for text in sizes.split(",")]
        for row in rows:
            size = 0 if row["label"].startswith("barrier") else min(wanted, key=lambda each: abs(each - row["bytes"]))
            self.times.setdefault((row["label"].split()[0], size, ranks), []).append(row["median"])

    def median(self, key: tuple[str, int, int]) -> float | None:
        return statistics.median(self.times[key]) if key in self.times else None


def bytes_of(text: str) -> int:
    unit = {"K": 1 << 10, "M": 1 << 20}.get(text[-1])
    return int(text[:-1]) * unit if unit else int(text)


def cliffs(measured: Measured, factor: float, cores: int) -> list[str]:
    """Returns a sentence for each cliff between neighbouring numbers of ranks."""
    found = []
    for operation, size in sorted({key[:2] for key in measured.times}):
        counts = sorted(key[2] for key in measured.times if key[:2] == (operation, size))
        for fewer, more in zip(counts, counts[1:]):
            if fewer <= cores < more:
                continue  # ranks that share cores are not compared with ranks that do not
            ratio = measured.median((operation, size, more)) / measured.median((operation, size, fewer))
            if not 1 / factor <= ratio <= factor * more / fewer:
                found.append(f"cliff: {operation} of {size_text(size)}: {ratio:.2f} times as long on {more} ranks as on {fewer}")
    return found


def table(ours: Measured, peers: list[Measured]) -> None:
    counts = sorted({key[2] for key in ours.times})
    print(f"{'us' + (' (ratio to the best)' if peers else ''):28s}" + "".join(f"{count:>16d}" for count in counts))
    ratios: dict[int, list[float]] = {}
    for operation, size in sorted({key[:2] for key in ours.times}):
        cells = []
        for count in counts:
            mine = ours.median((operation, size, count))
            theirs = min(filter(None, (peer.median((operation, size, count)) for peer in peers)), default=None)
            text = "" if mine is None else f"{mine:.4g}"
            if mine is not None and theirs:
                ratios.setdefault(count, []).append(mine / theirs)
                text += f" ({mine / theirs:.2f})"
            cells.append(f"{text:>16s}")
        print(f"{operation + ' ' + size_text(size):28s}" + "".join(cells))
    for count, each in sorted(ratios.items()):
        print(f"{count} ranks: median ratio {statistics.median(each):.2f}, worst {max(each):.2f}")


def numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--peers", nargs=2, metavar=("DIR", "NAME,NAME,..."))
    parser.add_argument("--ranks", type=numbers, default=[16, 32, 33, 48, 62, 64], metavar="N,N,...")
    parser.add_argument("--more", type=int, default=128, metavar="N", help="ranks beyond the cores; 0: none")
    parser.add_argument("--operations", default=OPERATIONS)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--factor", type=float, default=1.5)
    parser.add_argument("--seconds", type=float, default=95)
    parser.add_argument("--fail", action="store_true", help="end with 1 if there is a cliff, or a job is missing")
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    cores = len(os.sched_getaffinity(0))
    found = programs.locate(given.build)
    all_measured = [Measured(libraries.headrace(found), found.find("collective"))]
    for name in given.peers[1].split(",") if given.peers else ():
        peer = libraries.find_peer(name, Path(given.peers[0]).resolve())
        all_measured.append(Measured(peer, libraries.build(peer, ["collective"]) / "collective"))
    jobs = [(count, given.operations, given.sizes) for count in given.ranks]
    if given.more:
        jobs.append((given.more, *SHORT))
    for _ in range(given.runs):
        for count, operations, sizes in jobs:
            for each in all_measured:
                left = end - time.monotonic()
                if left < 2:
                    each.missing.append(f"{each.library.name}, {count} ranks: no time was left")
                    continue
                each.run(count, cores, operations, sizes, left)
                given.out.write_text(json.dumps({one.library.name: [[*key, *value] for key, value in one.times.items()]
                                                 for one in all_measured}), encoding="utf-8")
    table(all_measured[0], all_measured[1:])
    sentences = cliffs(all_measured[0], given.factor, cores)
    missing = [text for each in all_measured for text in each.missing]
    print("\n".join([*sentences, *(f"missing: {text}" for text in missing)]))
    return 1 if given.fail and (sentences or missing) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failed:
        sys.exit(f"many_cores.py: {failed}")
