"""Measures the message limits, each knob separately, for each kind of peers that it affects, with the installed latency
benchmark.

A value replaces the current one if its messages are faster beyond doubt (choose.py), in the geometric mean over the sizes that the
knob affects. Choices are measured again.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from headrace.bench import libraries
from headrace.bench.child import Failed, run_json
from headrace.bench.figure import number, size_text
from headrace.bench.programs import Programs
from headrace.tune.choose import DEFAULT, Times, choose
from headrace.tune.peers import ALL, Peers, one_host
from headrace.tune.work import Work

K = 1 << 10
_LENGTH = 0  # the only size for choose(), as a knob's time is one figure


@dataclass(frozen=True)
class Trial:
    """A knob, its possible values besides the default, and the message sizes that it affects."""

    knob: str
    values: tuple[int | str, ...]
    sizes: tuple[int, ...]
    memory: str = "host"
    over_hosts: bool = False
    by_peers: bool = False  # the library supports a value for each kind of peers
    peers: Peers = ALL

    def text(self) -> str:
        return self.knob + (f", {self.peers.text()}" if self.peers.text() else "")

    def span(self) -> str:
        return f"{size_text(self.sizes[0])} to {size_text(self.sizes[-1])}"


_SHORT = (2 * K, 8 * K, 16 * K, 32 * K, 64 * K)
_OVER_HOSTS = (8 * K, 32 * K, 128 * K, 512 * K, 1024 * K)
_LONG = (256 * K, 1024 * K, 4096 * K)
TRIALS = (
    Trial("eager_bytes", (4 * K, 8 * K, 32 * K, 64 * K), _SHORT, by_peers=True),
    Trial("single_copy_bytes", (8 * K, 32 * K, 64 * K, 256 * K), (8 * K, 16 * K, 32 * K, 64 * K, 128 * K)),
    Trial("network_eager_bytes", (8 * K, 16 * K, 32 * K, 128 * K, 256 * K, 512 * K, 1024 * K), _OVER_HOSTS, over_hosts=True, by_peers=True),
    Trial("device_eager_bytes", (256, 1 * K, 4 * K), (8, 256, 1 * K, 4 * K), "cuda"),
    Trial("device_resident_copy_bytes", (0, 16 * K, 128 * K), (8, 4 * K, 64 * K, 512 * K), "cuda"),
    Trial("device_pipeline_chunk_bytes", (256 * K, 512 * K, 1024 * K, 4096 * K), _LONG, "cuda"),
    Trial("device_pipeline_chunks", (2, 8), _LONG, "cuda"),
    Trial("device_network_chunk_bytes", (256 * K, 512 * K, 2048 * K, 4096 * K), _LONG, "cuda", over_hosts=True),
    Trial("device_network_chunks", (2, 8, 16), _LONG, "cuda", over_hosts=True),
    # Memory that other processes cannot map is staged.
    Trial("device_staging_bytes", (4096 * K, 65536 * K), _LONG, "pool"),
)


@dataclass(frozen=True)
class Found:
    """The value chosen for one knob; None: unchanged. `ratio`: ratio of the time with it to that with the current value; both are
    geometric means over the sizes, in microseconds."""

    trial: Trial
    value: int | str | None = None
    ratio: float = 1.0
    before: float = 0.0
    after: float = 0.0
    rounds: int = 0

    def lines(self) -> list[str]:
        """Returns this trial's lines of the settings file; none if no value was better."""
        if self.value is None:
            return []
        trial = self.trial
        about = f", {trial.peers.about}" if trial.peers.about else ""
        why = (f"{trial.memory} messages of {trial.span()}{about}: {self.ratio:.2f} of the time, {number(self.after)} us instead of "
               f"{number(self.before)}, {self.rounds} rounds")
        return [f"{name} = {self.value}  # {why}" for name in names(trial)]


def names(trial: Trial) -> list[str]:
    """Returns the keys (left of "=") of this trial's lines in the settings file."""
    return [f"{trial.knob} @ {peers}" if peers else trial.knob for peers in trial.peers.names]


def trials(peers: Iterable[Peers], device: bool, over_hosts: bool) -> list[Trial]:
    """Returns the trials for this case: between hosts or on this one, with buffers on GPUs or on the host. A knob with
    one value for all peers is measured with the last kind."""
    kinds = list(peers)
    found = []
    for trial in TRIALS:
        if trial.over_hosts != over_hosts or not (device or trial.memory == "host"):
            continue
        for each in kinds if trial.by_peers else kinds[-1:]:
            whole = each if trial.by_peers else replace(each, name="", pairs=())
            values = tuple(value for value in trial.values if value <= _worth(each)) if trial.over_hosts and trial.by_peers else trial.values
            found.append(replace(trial, values=values, peers=whole))
    return found


def _worth(peers: Peers) -> int:
    """Returns the largest useful eager limit: an eager message takes memory at the receiver and saves a round trip, so the limit is
    the number of bytes copied in that time, as in src/transport/ucx/path.cpp, rounded to the next power of two."""
    copied = 2 * peers.delay * 1e-6 * 8e9
    return min(max(64 * K, 1 << math.ceil(math.log2(max(copied, 1)))), 1024 * K)


def _time(programs: Programs, trial: Trial, value: int | str, arguments: tuple[str, ...], timeout: float) -> float:
    """Returns the geometric mean of the times over the sizes."""
    ours = libraries.headrace(programs)
    setting = {} if value == DEFAULT else {f"HEADRACE_{trial.knob.upper()}": str(value)}
    peers = trial.peers
    mpiexec, *options = [str(ours.mpiexec), *peers.launch, "-n", "2"] if peers.launch else ours.launch(2, False, peers.hosts)
    command = [mpiexec, *(() if peers.hosts else one_host(os.environ)), *options, programs.find("latency"), "--sizes", ",".join(map(str, trial.sizes)), "--mem", trial.memory, *arguments]
    report = run_json(command, timeout, {**ours.environment(False, peers.hosts), "HEADRACE_TUNING_FILE": "off",
                                         "HEADRACE_OVERSUBSCRIBE": "quiet", **setting}, elsewhere=bool(peers.hosts))
    return math.exp(sum(math.log(row["median"]) for row in report["rows"]) / len(report["rows"]))


def timer(programs: Programs, arguments: tuple[str, ...], timeout: float = 180) -> Callable[[Trial, "int | str"], float]:
    return lambda trial, value: _time(programs, trial, value, arguments, timeout)


@dataclass(frozen=True)
class Messages:
    """Trials to be measured. `about`: other conditions of the times, for the journal."""

    chosen: Sequence[Trial]
    rounds: int
    time_of: Callable[[Trial, "int | str"], float]
    about: Sequence[str] = ()

    def steps(self) -> Iterator[str]:
        return (_step(trial, value) for trial in self.chosen for value in (DEFAULT, *trial.values) for _ in range(self.rounds))

    def likely(self) -> Counter[str]:
        """Returns the steps that would be measured again if half of the knobs changed."""
        return Counter(_step(trial, value) for trial in self.chosen[::2] for value in (DEFAULT, trial.values[0]) for _ in range(self.rounds))

    def measure(self, work: Work) -> list[Found]:
        """Measures and chooses a value for each knob."""
        found = []
        others = work.progress.later - self.likely()
        for place, trial in enumerate(self.chosen):
            work.progress.later = others + Messages(self.chosen[place:], self.rounds, self.time_of).likely()
            try:
                found.append(self._one(trial, work))
            except Failed as reason:
                work.failures.append(f"{trial.text()}: {reason}")
        work.progress.later = others
        return found

    def _one(self, trial: Trial, work: Work) -> Found:
        times: Times = {}
        self._rounds(trial, [DEFAULT, *trial.values], range(self.rounds), times, work)
        best = choose(times)[0].algorithm
        if best != DEFAULT:
            work.progress.add(_step(trial, value) for value in (DEFAULT, best) for _ in range(self.rounds))
            self._rounds(trial, [DEFAULT, best], range(self.rounds, 2 * self.rounds), times, work)
            times = {value: times[value] for value in (DEFAULT, best) if value in times}
        choice = choose(times)[0]
        value = None if choice.algorithm == DEFAULT else choice.algorithm
        return Found(trial, value, choice.ratio, choice.before, choice.after, choice.rounds)

    def _rounds(self, trial: Trial, values: list[int | str], rounds: range, times: Times, work: Work) -> None:
        """Measures each value once per round, in rotating order. A value that fails is dropped; the current one must not fail."""
        failed: set[int | str] = set()
        for round_ in rounds:
            shift = round_ % len(values)
            for value in values[shift:] + values[:shift]:
                if value in failed:
                    work.left_out(_step(trial, value))
                    continue
                try:
                    key = json.dumps(["message", trial.knob, trial.memory, list(trial.peers.hosts), trial.peers.launch, value, trial.sizes,
                                      list(self.about), round_])
                    time = work.do(_step(trial, value), key, lambda value=value: self.time_of(trial, value))
                    times.setdefault(value, {}).setdefault(_LENGTH, []).append(time)
                except Failed:
                    if value == DEFAULT:
                        raise
                    failed.add(value)
                    times.pop(value, None)


def _step(trial: Trial, value: int | str) -> str:
    return f"{trial.text()} = {value}"


def _settled(found: list[Found]) -> list[Found]:
    """Merges the kinds of peers on one host for which a knob has the same value into one line."""
    by_knob: dict[str, list[Found]] = {}
    for each in found:
        if each.trial.peers.name:
            by_knob.setdefault(each.trial.knob, []).append(each)
    result = [each for each in found if not each.trial.peers.name]
    for of_knob in by_knob.values():
        values = {each.value for each in of_knob}
        if len(values) == 1 and len(of_knob) > 1 and None not in values:
            one = of_knob[-1]
            trial = Trial(one.trial.knob, one.trial.values, one.trial.sizes, one.trial.memory, peers=Peers(about="all of this host"))
            result.append(Found(trial, one.value, statistics.median(each.ratio for each in of_knob), one.before, one.after, one.rounds))
        else:
            result += of_knob
    return result


def text(found: list[Found], before: str, machine: str, version: str, about: str) -> str:
    """Returns the new file: the values found and, for knobs that were not measured, the lines of an earlier file of the same
    machine and version."""
    final = _settled(found)
    measured = {"machine", "version", *(name for each in (*found, *final) for name in names(each.trial)),
                *(each.trial.knob for each in found if each.trial.peers.name)}
    kept = [line for line in before.splitlines() if "=" in (setting := line.split("#")[0]) and setting.split("=")[0].strip() not in measured]
    if not fits(before, machine, version):
        kept = []
    lines = [f"# {about}", f"machine = {machine}", f"version = {version}", *kept, *(line for each in final for line in each.lines())]
    return "\n".join(lines) + "\n"


def settings(text_: str) -> dict[str, str]:
    """Returns the values in a file, indexed by the text before "="."""
    pairs = (line.split("#")[0].partition("=") for line in text_.splitlines())
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}


def fits(text_: str, machine: str, version: str) -> bool:
    """True if the file was measured on this machine with this version; lines from other files are dropped."""
    found = settings(text_)
    return found.get("machine") == machine and found.get("version") == version
