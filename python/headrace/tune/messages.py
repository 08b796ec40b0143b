"""`headrace tune --messages`: the limits of messages, each knob by itself, with the installed latency benchmark.

A value takes the place of the present one where its messages are faster beyond doubt (choose.py): in the geometric mean over
the sizes that the knob decides about. What is chosen is measured again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headrace.bench import libraries
from headrace.bench.child import Failed, run_json
from headrace.bench.figure import size_text
from headrace.bench.progress import Progress
from headrace.bench.programs import Programs
from headrace.tune.choose import DEFAULT, Times, choose

K = 1 << 10
_LENGTH = 0  # choose() goes by sizes; a knob's time is one figure


@dataclass(frozen=True)
class Trial:
    """A knob, what it may be besides its default, and the sizes of messages that it decides about."""

    knob: str
    values: tuple[int | str, ...]
    sizes: tuple[int, ...]
    memory: str = "host"
    over_hosts: bool = False


_SHORT = (2 * K, 8 * K, 16 * K, 32 * K, 64 * K)
_LONG = (256 * K, 1024 * K, 4096 * K)
TRIALS = (
    Trial("eager_bytes", (4 * K, 8 * K, 32 * K, 64 * K), _SHORT),
    Trial("single_copy_bytes", (8 * K, 32 * K, 64 * K, 256 * K), (8 * K, 16 * K, 32 * K, 64 * K, 128 * K)),
    Trial("network_eager_bytes", (2 * K, 8 * K, 16 * K, 32 * K, 64 * K), _SHORT, over_hosts=True),
    Trial("cuda_eager_bytes", (256, 1 * K, 4 * K), (8, 256, 1 * K, 4 * K), "cuda"),
    Trial("cuda_resident_copy_bytes", (0, 16 * K, 128 * K), (8, 4 * K, 64 * K, 512 * K), "cuda"),
    Trial("cuda_pipeline_chunk_bytes", (256 * K, 512 * K, 1024 * K, 4096 * K), _LONG, "cuda"),
    Trial("cuda_pipeline_chunks", (2, 8), _LONG, "cuda"),
    Trial("cuda_network_chunk_bytes", (256 * K, 512 * K, 2048 * K, 4096 * K), _LONG, "cuda", over_hosts=True),
    Trial("cuda_network_chunks", (2, 8, 16), _LONG, "cuda", over_hosts=True),
)


@dataclass(frozen=True)
class Found:
    """What one knob is to be; None: as it is. `ratio`: of the time with it to that with the present value."""

    trial: Trial
    value: int | str | None = None
    ratio: float = 1.0

    def line(self) -> str:
        first, last = (size_text(size) for size in (self.trial.sizes[0], self.trial.sizes[-1]))
        return f"{self.trial.knob} = {self.value}  # {self.trial.memory} messages of {first} to {last}: {self.ratio:.2f} of the time"


def trials(hosts: Iterable[str], device: bool) -> list[Trial]:
    """Those that matter there: over hosts, or on this one; with buffers on GPUs, or without."""
    over_hosts = bool(tuple(hosts))
    return [trial for trial in TRIALS if trial.over_hosts == over_hosts and (device or trial.memory == "host")]


def _time(programs: Programs, trial: Trial, value: int | str, hosts: tuple[str, ...], arguments: tuple[str, ...], timeout: float) -> float:
    """The geometric mean over the sizes."""
    ours = libraries.headrace(programs)
    setting = {} if value == DEFAULT else {f"HEADRACE_{trial.knob.upper()}": str(value)}
    command = [*ours.launch(2, False, hosts), programs.find("latency"), "--sizes", ",".join(map(str, trial.sizes)),
               "--mem", trial.memory, *arguments]
    report = run_json(command, timeout, {**ours.environment(False, hosts), "HEADRACE_TUNING_FILE": "off", **setting})
    return math.exp(sum(math.log(row["median"]) for row in report["rows"]) / len(report["rows"]))


def _rounds(trial: Trial, values: list[int | str], rounds: int, time_of: Callable[[Trial, int | str], float], times: Times,
            progress: Progress) -> None:
    """Each value once a round, in rotating order. One that fails is out; without the present one nothing can be said."""
    failed: set[int | str] = set()
    for round_ in range(rounds):
        shift = round_ % len(values)
        for value in values[shift:] + values[:shift]:
            progress.step(f"{trial.knob} = {value}")
            if value in failed:
                continue
            try:
                times.setdefault(value, {}).setdefault(_LENGTH, []).append(time_of(trial, value))
            except Failed:
                if value == DEFAULT:
                    raise
                failed.add(value)
                times.pop(value, None)


def measure(chosen: list[Trial], rounds: int, time_of: Callable[[Trial, int | str], float]) -> tuple[list[Found], list[str]]:
    """For each knob what it is to be; and what failed."""
    found, failures = [], []
    progress = Progress(f"{trial.knob} = {value}" for trial in chosen for value in (DEFAULT, *trial.values) for _ in range(rounds))
    for trial in chosen:
        times: Times = {}
        try:
            _rounds(trial, [DEFAULT, *trial.values], rounds, time_of, times, progress)
            best = choose(times)[0].algorithm
            if best != DEFAULT:
                _rounds(trial, [DEFAULT, best], rounds, time_of, times, progress)
                times = {value: times[value] for value in (DEFAULT, best) if value in times}
            choice = choose(times)[0]
            found.append(Found(trial) if choice.algorithm == DEFAULT else Found(trial, choice.algorithm, choice.ratio))
        except Failed as reason:
            failures.append(f"{trial.knob}: {reason}")
    progress.finish()
    return found, failures


def timer(programs: Programs, hosts: tuple[str, ...], arguments: tuple[str, ...], timeout: float = 180):
    return lambda trial, value: _time(programs, trial, value, hosts, arguments, timeout)


def report(found: list[Found]) -> str:
    lines = [f"{'knob':<28}{'memory':<8}{'messages of':<20}{'value':<12}time"]
    for each in found:
        sizes = f"{size_text(each.trial.sizes[0])} to {size_text(each.trial.sizes[-1])}"
        value, time = ("as it is", "") if each.value is None else (str(each.value), f"x {each.ratio:.2f}")
        lines.append(f"{each.trial.knob:<28}{each.trial.memory:<8}{sizes:<20}{value:<12}{time}".rstrip())
    return "\n".join(lines)


def text(found: list[Found], before: str, machine: str, version: str, about: str) -> str:
    """The file: what was found, and what an earlier file says of other knobs."""
    measured = {each.trial.knob for each in found}
    kept = [line for line in before.splitlines() if "=" in (setting := line.split("#")[0]) and
            setting.split("=")[0].strip() not in {"machine", "version", *measured}]
    lines = [f"# {about}", f"machine = {machine}", f"version = {version}", *kept,
             *(each.line() for each in found if each.value is not None)]
    return "\n".join(lines) + "\n"
