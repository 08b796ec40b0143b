"""Interleaved runs of the host benchmarks under several libraries, and the ratios between them.

A round runs each benchmark once under each library, in rotating order, so that a change in the machine's load affects
all of them equally. A ratio is computed within a round; the table gives its median and its spread over the rounds.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path

from headrace.bench import summary
from headrace.bench.bare import Bare
from headrace.bench.child import Failed, run_json
from headrace.bench.libraries import Library, cores
from headrace.bench.progress import Progress
from headrace.bench.suite import Benchmark

Key = tuple[str, int]  # label and bytes of a row

ATTEMPTS = 3  # exit code of a run whose cores were never at the distance (bench/common/measure.cpp)
NEVER_SO_FAR_APART = "never so far apart"


@dataclass(frozen=True)
class Plan:
    """Settings of a run, the same for every library."""

    ranks: int
    runs: int
    timeout: int
    sizes: str | None = None
    form: str = "blocking"           # form of the collectives
    arguments: tuple[str, ...] = ()  # arguments for every program
    touch: bool = False              # write sent and read received data, in programs that support this
    hosts: tuple[str, ...] = ()      # hosts where ranks run; empty: this machine
    wrap: tuple[str, ...] = ()       # command that starts each rank's program


@dataclass
class Result:
    """One benchmark: the reports of each library, one per run, or the reason why there is none."""

    benchmark: Benchmark
    reports: dict[str, list[dict]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def sample(self) -> dict | None:
        return next((reports[0] for reports in self.reports.values() if reports), None)

    def keys(self) -> list[Key]:
        """Returns the keys of all rows, in the order of the first library that has them."""
        return list(dict.fromkeys(_key(row) for reports in self.reports.values() for report in reports[:1]
                                  for row in report["rows"]))

    def medians(self, library: str, key: Key) -> list[float]:
        return [row["median"] for report in self.reports.get(library, []) for row in report["rows"] if _key(row) == key]

    def bare(self, key: Key) -> float | None:
        """Returns the row's time without MPI, if the program measured it in Headrace's own runs."""
        values = [row["bare us"] for report in self.reports.get("headrace", []) for row in report["rows"]
                  if _key(row) == key and "bare us" in row]
        return statistics.median(values) if values else None

    def less_is_better(self) -> bool:
        return bool((self.sample() or {}).get("less_is_better", True))

    def best_peer(self, key: Key) -> str | None:
        """Returns the peer with the best median over the runs."""
        medians = {name: statistics.median(values) for name in self.reports
                   if name != "headrace" and (values := self.medians(name, key))}
        if not medians:
            return None
        return (min if self.less_is_better() else max)(medians, key=medians.get)

    def ratios(self, key: Key) -> list[float]:
        """Returns Headrace's ratios to the best peer, run by run: below 1 is better for times, above 1 for rates."""
        peer = self.best_peer(key)
        if peer is None:
            return []
        pairs = zip(self.medians("headrace", key), self.medians(peer, key))
        return [ours / theirs for ours, theirs in pairs if theirs > 0]


def _key(row: dict) -> Key:
    return row.get("label", ""), row["bytes"]


def run_one(benchmark: Benchmark, library: Library, program: Path, plan: Plan) -> dict:
    oversubscribed = plan.ranks > cores()
    sizes = plan.sizes or benchmark.sizes
    command = [*library.launch(plan.ranks, oversubscribed, plan.hosts), *plan.wrap, str(program), *benchmark.arguments, *plan.arguments]
    if sizes:
        command += ["--sizes", sizes]
    if benchmark.program == "collective":
        command += ["--form", plan.form]
    if plan.touch and benchmark.touches:
        command += ["--touch"]
    start = time.monotonic()
    report = run_json(command, plan.timeout, library.environment(oversubscribed, plan.hosts))
    if benchmark.times_job:
        report["rows"].append({"label": "whole job", "bytes": 0, "median": (time.monotonic() - start) * 1e6})
    return report


def run_patiently(benchmark: Benchmark, library: Library, program: Path, plan: Plan) -> dict:
    """Runs a benchmark, and repeats it if the machine's cores were never at the requested distance (--cores-apart)."""
    for _ in range(ATTEMPTS - 1):
        try:
            return run_one(benchmark, library, program, plan)
        except Failed as failed:
            if NEVER_SO_FAR_APART not in str(failed):
                raise
    return run_one(benchmark, library, program, plan)


def compare(benchmarks: list[Benchmark], libraries: list[Library], programs: dict[str, Path],
            plan: Plan, bare: Bare) -> list[Result]:
    """`programs`: the directory of each library's programs. A library that fails in one benchmark is omitted from that
    benchmark."""
    results = [Result(benchmark, {library.name: [] for library in libraries}) for benchmark in benchmarks]
    progress = Progress(_step(benchmark, library) for benchmark in benchmarks for library in libraries
                        for _ in range(plan.runs))
    for result in results:
        for round_ in range(plan.runs):
            shift = round_ % len(libraries)
            for library in libraries[shift:] + libraries[:shift]:
                progress.step(_step(result.benchmark, library))
                if library.name in result.failures:
                    continue
                try:
                    report = run_patiently(result.benchmark, library,
                                           programs[library.name] / result.benchmark.program, plan)
                except Failed as failed:
                    result.failures[library.name] = str(failed)
                    continue
                result.reports[library.name].append(report)
            bare.measure(result.benchmark)
    progress.finish()
    return results


def _step(benchmark: Benchmark, library: Library) -> str:
    return f"{benchmark.name}, {library.name}"


def pinning_warning(result: Result, plan: Plan) -> str:
    """Returns a warning that names the libraries that did not bind each rank to a separate core although there are
    enough cores."""
    if plan.hosts:
        return ""
    loose = [name for name, reports in result.reports.items() if reports and plan.ranks <= cores() and
             (len(set(reports[0]["cpus"])) < plan.ranks or any("," in c or "-" in c for c in reports[0]["cpus"]))]
    return f"not bound to cores: {', '.join(loose)}" if loose else ""


def wandering_warning(distances: list[float]) -> str:
    """Returns a warning with the cache-line time in each run, in microseconds, which shows whether the machine's cores
    move."""
    if not distances or max(distances) < 2 * min(distances):
        return ""
    return (f"the two cores were not equally far apart in all runs: a bare cache line took {min(distances) * 1e3:.0f} to "
            f"{max(distances) * 1e3:.0f} ns (--cores-apart measures at one distance)")


def table(result: Result, libraries: list[str], limits=None, markdown: bool = False) -> str:
    """Returns the table of one benchmark; `limits` returns the bare limit of a size, or None."""
    return summary.table(summary.summarise(result, libraries, limits), markdown)
