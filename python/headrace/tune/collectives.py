"""Measures every algorithm of a collective, round by round, with the installed benchmark: on one host by number of ranks, and on
several hosts by ranks per host."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from headrace.bench import libraries
from headrace.bench.child import Failed, run, run_json
from headrace.bench.programs import Programs
from headrace.tune.choose import DEFAULT, Choice, Group, Times, choose, winners
from headrace.tune.peers import one_host
from headrace.tune.work import Work

# Selection counts one block for these operations; the benchmark's size is that of all blocks.
BLOCKS = ("gather", "scatter", "allgather", "alltoall")
# Not every rank knows the sizes of operations with a count for each rank, so no row can specify them; neighbourhood operations have
# only one algorithm.
OPERATIONS = ("barrier", "bcast", "reduce", "allreduce", "reduce_scatter_block", "reduce_scatter", "scan", "exscan",
              *BLOCKS)


@dataclass(frozen=True)
class Plan:
    sizes: list[int]
    rounds: int
    arguments: tuple[str, ...]  # arguments for the benchmark
    hosts: tuple[str, ...] = ()  # hosts of the groups over hosts
    timeout: float = 180


@dataclass
class Collectives:
    """Groups to be measured, and their times. `time_of`: returns the times of a group with an algorithm, by bytes as selection
    counts them; raises Failed if they cannot be measured."""

    names: dict[Group, list[str]]  # algorithms, the built-in choice first
    plan: Plan
    time_of: Callable[[Group, str], dict[int, float]]
    times: dict[Group, Times] = field(default_factory=dict)

    def steps(self) -> Iterator[str]:
        """Returns the steps of the first rounds."""
        return (_step(group, name) for group, names in self.names.items() for name in names for _ in range(self.plan.rounds))

    def likely(self) -> Counter[str]:
        """Returns the steps that would be measured again, as far as known now; at the start, half of the groups with
        one algorithm."""
        if not self.times:
            return Counter(_step(group, name) for group in list(self.names)[::2] for name in self.names[group][:2] for _ in range(self.plan.rounds))
        again = winners({group: choose(times) for group, times in self.times.items()})
        return Counter(_step(group, name) for group, names in again.items() for name in names for _ in range(self.plan.rounds))

    def measure(self, work: Work) -> dict[Group, list[Choice]]:
        """Measures all algorithms in the first rounds, and the winners in as many more; returns the choices."""
        others = work.progress.later - self.likely()  # names of the steps that follow
        self._rounds(self.names, range(self.plan.rounds), work, others)
        again = winners({group: choose(times) for group, times in self.times.items()})
        work.progress.later = others
        work.progress.add(_step(group, name) for group, names in again.items() for name in names for _ in range(self.plan.rounds))
        if again:
            self._rounds(again, range(self.plan.rounds, 2 * self.plan.rounds), work, None)
        return {group: choose({name: of_name for name, of_name in times.items() if name in again.get(group, (DEFAULT,))})
                for group, times in self.times.items()}

    def _rounds(self, names: dict[Group, list[str]], rounds: range, work: Work, later: Counter[str] | None) -> None:
        """Measures the named algorithms in rotating order. An algorithm that fails once is dropped; a failure does not affect other
        operations."""
        failed: set[tuple[Group, str]] = set()
        for round_ in rounds:
            for group in names:
                shift = round_ % len(names[group])
                for name in names[group][shift:] + names[group][:shift]:
                    if (group, name) in failed:
                        work.left_out(_step(group, name))
                    elif not self._one(group, name, round_, work):
                        failed.add((group, name))
            if later is not None:
                work.progress.later = later + self.likely()
        for group, name in failed:
            self.times.get(group, {}).pop(name, None)
        self.times = {group: times for group, times in self.times.items() if DEFAULT in times}

    def _one(self, group: Group, name: str, round_: int, work: Work) -> bool:
        try:
            times = work.do(_step(group, name), self._key(group, name, round_),
                            lambda: [[bytes_, time] for bytes_, time in self.time_of(group, name).items()])
        except Failed as reason:
            work.failures.append(f"{_step(group, name)}: {reason}")
            return False
        by_size = self.times.setdefault(group, {}).setdefault(name, {})
        for bytes_, time in times:
            by_size.setdefault(bytes_, []).append(time)
        return True

    def _key(self, group: Group, name: str, round_: int) -> str:
        hosts = list(self.plan.hosts) if group.hosts > 1 else []
        return json.dumps(["collective", group.operation, group.memory, group.ranks, hosts, name, self.plan.sizes, self.plan.arguments, round_])


def selection(programs: Programs) -> dict:
    """Returns the library's selection data (tools/selection.cpp)."""
    return json.loads(run([programs.find("selection")], 60, programs.environment()))


def candidates(known: list[dict], group: Group) -> list[str]:
    """Returns the algorithms that apply: device algorithms only for device memory, those on shared memory only within one host,
    compositions if ranks are on several hosts with several ranks on each."""
    unfit = "shared" if group.memory == "device" or group.hosts > 1 else "devices"
    if group.hosts > 1 and group.memory != "device":
        known = [each for each in known if not each["devices"]]
    return [each["name"] for each in known if not each[unfit] and (not each["composes"] or (group.hosts > 1 and group.each > 1))]


def ranks_of_devices(devices: int) -> list[int]:
    """Returns numbers of ranks for a host with so many GPUs, at most one rank for each; with a single GPU, ranks that share it."""
    return [2, 4] if devices < 2 else sorted(number for number in {2, 3, 4, devices} if number <= devices)


def groups_here(operations: tuple[str, ...], ranks: dict[str, list[int]], cpus: int) -> list[Group]:
    """`ranks`: numbers of ranks by kind of memory."""
    return [Group(operation, number, number > cpus, memory) for memory in ranks for operation in operations for number in ranks[memory]]


def groups_of_hosts(operations: tuple[str, ...], hosts: int, each: list[int], cpus: int, memories: tuple[str, ...]) -> list[Group]:
    return [Group(operation, hosts * number, number > cpus, memory, hosts, number) for memory in memories
            for operation in operations for number in each]


def timer(programs: Programs, plan: Plan) -> Callable[[Group, str], dict[int, float]]:
    return lambda group, name: _times(_run(programs, group, name, plan), group)


def _step(group: Group, name: str) -> str:
    return f"{group.operation}, {group.where()}, {name}"


def _run(programs: Programs, group: Group, algorithm: str, plan: Plan) -> dict:
    ours = libraries.headrace(programs)
    hosts = plan.hosts if group.hosts > 1 else ()
    oversubscribed = (group.each or group.ranks) > libraries.cores()
    forced = "" if algorithm == DEFAULT else f"{group.operation}:{algorithm}"
    mpiexec, *options = ours.launch(group.ranks, oversubscribed, hosts)
    command = [mpiexec, *(() if hosts else one_host(os.environ)), *options, programs.find("collective"), "--op", group.operation,
               "--sizes", ",".join(map(str, plan.sizes)), "--mem", "cuda" if group.memory == "device" else "host",
               *plan.arguments]
    return run_json(command, plan.timeout, {**ours.environment(oversubscribed, hosts), "HEADRACE_TUNING_FILE": "off",
                                            "HEADRACE_OVERSUBSCRIBE": "quiet", "HEADRACE_COLL_FORCE": forced}, elsewhere=bool(hosts))


def _times(report: dict, group: Group) -> dict[int, float]:
    """Returns times by the bytes that selection uses; of sizes that are then equal, the first."""
    times: dict[int, float] = {}
    for row in report["rows"]:
        bytes_ = row["bytes"] // group.ranks if group.operation in BLOCKS else row["bytes"]
        times.setdefault(bytes_, row["median"])
    return times
