"""The links of hosts, GPUs or cores, measured in pairs with the benchmark `links`, and those between a host and its
GPUs, with `host_gpu` (docs/doctor.md)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headrace.bench.child import Failed, run, run_json
from headrace.bench.programs import Programs, locate

SECONDS = 300.0
_SHORT = 8
_MOST_CORES = 8
HOST_AND_GPUS = "host and GPUs"

Times = Mapping[tuple[int, int], float]  # microseconds by pair of ranks; latencies have the lower rank first, other times the sender


@dataclass(frozen=True)
class Links:
    """One kind of links. `ends` names the ranks."""

    what: str  # "hosts", "GPUs", "host and GPUs", "cores"
    ends: Sequence[str]
    bytes: int  # length of a long message
    latency: Times  # empty between a host and its GPUs
    stream: Times
    together: Times  # times of long messages while all ranks communicate

    @property
    def in_company(self) -> bool:
        """True if there are enough ends for several links to be busy at the same time."""
        return len(self.ends) >= (3 if self.what == HOST_AND_GPUS else 4)

    def between(self, pair: tuple[int, int], arrow: str) -> str:
        return f"{self.ends[pair[0]]} {arrow} {self.ends[pair[1]]}"

    def rate(self, time: float) -> str:
        """Returns the rate of a long message that takes this many microseconds."""
        megabytes = self.bytes / time
        return f"{megabytes / 1000:.1f} GB/s" if megabytes >= 1000 else f"{megabytes:.0f} MB/s"


@dataclass(frozen=True)
class RunFacts:
    measured: Sequence[Links]
    builds: Mapping[str, str] = field(default_factory=dict)  # builds of the library, by host
    library: str = ""


def slower(times: Times) -> list[tuple[float, tuple[int, int]]]:
    """Returns the time of each link divided by the median of all; the worst first."""
    usual = statistics.median_low(times.values())
    return sorted(((time / usual, pair) for pair, time in times.items()), reverse=True)


def read(report: Mapping, what: str, ends: Sequence[str]) -> Links:
    """Reads the JSON of the benchmark. Uses the best time of each link, as longer times are due to disturbances."""
    found: dict[tuple[str, bool], dict] = {}
    length = _SHORT
    for row in report["rows"]:
        pair, when = row["label"].split()
        sign = ">" if ">" in pair else "-"
        first, second = pair.split(sign)
        found.setdefault((when, sign == ">"), {})[int(first), int(second)] = float(row["best"])
        length = max(length, int(row["bytes"]))
    return Links(what, ends, length, found.get(("alone", False), {}), found.get(("alone", True), {}), found.get(("together", True), {}))


def _builds(programs: Programs, where: Sequence[str]) -> dict[str, str]:
    """Returns the id of the library's build on each host, by host name."""
    ask = 'echo "headrace-build $(uname -n) $(sha256sum "$0" 2>/dev/null | cut -c 1-64 || :) none"'
    text = run([str(programs.mpiexec), *where, "--ppn", "1", "sh", "-c", ask, str(programs.library)], 120, programs.environment())
    words = (line.split() for line in text.splitlines() if "headrace-build" in line)
    return {line[at + 1]: line[at + 2] for line in words for at in [line.index("headrace-build")] if len(line) > at + 2}


def _host_names(report: Mapping, ranks: int) -> list[str]:
    return [str(report.get(f"host {rank}", rank)) for rank in range(ranks)]


def _host_and_gpus(programs: Programs, gpus: int) -> Links:
    """Measures with one rank per GPU, placed like the ranks of a job."""
    command = [str(programs.mpiexec), "-n", str(gpus), str(programs.find("host_gpu"))]
    report = run_json(command, SECONDS, {**programs.environment(), "HEADRACE_OVERSUBSCRIBE": "quiet"})
    return read(report, HOST_AND_GPUS, ["host", *(f"GPU {index}" for index in range(gpus))])


def _measure(programs: Programs, what: str, *words: str, memory: str = "host") -> Links:
    command = [str(programs.mpiexec), *words, str(programs.find("links")), "--mem", memory]
    report = run_json(command, SECONDS, programs.environment(), elsewhere=what == "hosts")
    ranks = int(report["ranks"])
    names = _host_names(report, ranks) if what == "hosts" else [f"{what[:-1]} {rank}" for rank in range(ranks)]
    return read(report, what, names)


def measure(prefix: Path, hosts: str, environment: Mapping[str, str], gpus: int, cores: int, builds_alone: bool = False) -> RunFacts:
    """Measures between the named hosts or those of the allocation, otherwise on this host. `builds_alone`: measures no
    link. Raises Failed."""
    programs = locate(prefix)
    if hosts or any(name in environment for name in ("SLURM_JOB_ID", "PBS_NODEFILE")):
        where = ("--hosts", hosts) if hosts else ()
        builds = _builds(programs, where)
        if builds_alone:
            return RunFacts([], builds, str(programs.library))
        try:
            measured = [_measure(programs, "hosts", *where, "--ppn", "1")]
        except Failed:
            if len(set(builds.values())) < 2:
                raise
            measured = []  # expected
        return RunFacts(measured, builds, str(programs.library))
    measured = []
    if gpus > 0:
        measured.append(_host_and_gpus(programs, gpus))
    if gpus > 1:
        measured.append(_measure(programs, "GPUs", "-n", str(gpus), memory="cuda"))
    if cores > 1:
        measured.append(_measure(programs, "cores", "-n", str(min(cores, _MOST_CORES)), "--bind-to", "core"))
    if not measured:
        raise Failed("there is one core and no GPU here, and no link to measure: name hosts with --hosts")
    return RunFacts(measured)
