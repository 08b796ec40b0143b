"""The bare limits of the host benchmarks: the speed of the machine without MPI (host_limits), in a table's unit."""

from __future__ import annotations

import sys

from headrace.bench.child import Failed, run_json
from headrace.bench.limits import Limits
from headrace.bench.programs import Programs
from headrace.bench.suite import Benchmark

# Operations that host_limits implements itself, each with all of its methods.
COLLECTIVES = ("barrier", "bcast", "allreduce", "allgather", "alltoall")
TIMEOUT = 60  # seconds


class Bare:
    """Limits measured in the rounds of their benchmark, so that the machine's load affects both equally."""

    def __init__(self, programs: Programs, ranks: int, sizes: str | None, touch: bool = False,
                 cores_apart: str | None = None):
        self._programs, self._ranks, self._sizes, self._touch = programs, ranks, sizes, touch
        self._arguments = ["--cores-apart", cores_apart] if cores_apart else []
        self._limits: dict[str, Limits] = {}  # by benchmark
        self._failed = False

    def knows(self, benchmark: Benchmark) -> bool:
        if self._touch and benchmark.touches:
            return False  # the bare copies do not touch the data
        if benchmark.name in COLLECTIVES:
            return self._ranks > 1
        return benchmark.name in ("latency", "bandwidth") and self._ranks == 2

    def measure(self, benchmark: Benchmark) -> None:
        """Performs one more measurement. A limit that cannot be measured is reported once and omitted."""
        if self._failed or not self.knows(benchmark):
            return
        arguments = ["--sizes", self._sizes or benchmark.sizes or "8"]
        if benchmark.name in COLLECTIVES:
            arguments += ["--samples", "5", "--collectives", benchmark.name, "--processes", str(self._ranks)]
        else:
            arguments += ["--samples", "100"]
        arguments += self._arguments
        try:
            report = run_json([self._programs.find("host_limits"), *arguments], TIMEOUT)
        except Failed as failed:
            self._failed = True
            print(f"headrace bench: no bare limits: {failed}", file=sys.stderr)
            return
        self._limits.setdefault(benchmark.name, Limits()).add(report)

    def distances(self) -> list[float]:
        """Returns the core-to-core time of a cache line in microseconds, the median of each run. Available for latency
        and bandwidth."""
        return [time for limits in self._limits.values() for time in limits.runs("cache line", 64)]

    def of(self, benchmark: str, bytes_: int) -> float | None:
        """Returns the best measurement without MPI; None if there is none."""
        limits = self._limits.get(benchmark)
        if limits is None:
            return None
        if benchmark in COLLECTIVES:
            ways = [way for way in limits.labels() if way.split(",")[0] == benchmark and bytes_ in limits.sizes(way)]
            return min((limits.microseconds(way, bytes_) for way in ways), default=None)
        copy = limits.microseconds("memcpy", bytes_) if bytes_ else None
        if benchmark == "bandwidth":
            return bytes_ / copy if copy else None
        exchanged = limits.sizes("exchange")
        if exchanged and bytes_ <= exchanged[-1]:
            return limits.microseconds("exchange", bytes_)
        return max(limits.microseconds("cache line") or 0, copy or 0) or None
