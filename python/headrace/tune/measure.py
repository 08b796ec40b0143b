"""Times of every algorithm of a collective, round by round, with the installed benchmark."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from headrace.bench import libraries
from headrace.bench.child import Failed, run, run_json
from headrace.bench.progress import Progress
from headrace.bench.programs import Programs
from headrace.tune.choose import DEFAULT, Group, Times

# What selection knows of a size is that of one block; the benchmark's size is that of all of them.
BLOCKS = ("gather", "scatter", "allgather", "alltoall")
# Sizes of the operations with a count for each rank are not known to all ranks, so that no row can ask for them; a
# neighbourhood's have one algorithm.
OPERATIONS = ("barrier", "bcast", "reduce", "allreduce", "reduce_scatter_block", "reduce_scatter", "scan", "exscan",
              *BLOCKS)


@dataclass(frozen=True)
class Plan:
    sizes: list[int]
    rounds: int
    arguments: tuple[str, ...]  # for the benchmark
    timeout: float = 180


@dataclass
class Outcome:
    times: dict[Group, Times] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def selection(programs: Programs) -> dict:
    """What the library says: tools/selection.cpp."""
    return json.loads(run([programs.find("selection")], 60, programs.environment()))


def candidates(known: list[dict], memory: str) -> list[str]:
    """Algorithms that can serve: those for devices only there; those through shared memory not."""
    unfit = "shared" if memory == "device" else "devices"
    return [each["name"] for each in known if not each[unfit]]


def measure(programs: Programs, names: dict[Group, list[str]], plan: Plan, outcome: Outcome) -> None:
    """Rounds of the algorithms named, in rotating order, added to the outcome. An algorithm that fails once is out; one
    operation's failure leaves the others."""
    progress = Progress(_step(group, name) for group in names for name in names[group] for _ in range(plan.rounds))
    failed: set[tuple[Group, str]] = set()
    for round_ in range(plan.rounds):
        for group in names:
            shift = round_ % len(names[group])
            for name in names[group][shift:] + names[group][:shift]:
                progress.step(_step(group, name))
                if (group, name) in failed:
                    continue
                try:
                    report = _run(programs, group, name, plan)
                except Failed as reason:
                    failed.add((group, name))
                    outcome.failures.append(f"{group.operation}, {group.ranks} ranks, {name}: {reason}")
                    continue
                by_size = outcome.times.setdefault(group, {}).setdefault(name, {})
                for bytes_, time in _times(report, group).items():
                    by_size.setdefault(bytes_, []).append(time)
    progress.finish()
    for group, name in failed:
        outcome.times.get(group, {}).pop(name, None)
    outcome.times = {group: times for group, times in outcome.times.items() if DEFAULT in times}


def _step(group: Group, name: str) -> str:
    return f"{group.operation}, {group.ranks} ranks, {name}"


def _run(programs: Programs, group: Group, algorithm: str, plan: Plan) -> dict:
    ours = libraries.headrace(programs)
    oversubscribed = group.ranks > libraries.cores()
    forced = "" if algorithm == DEFAULT else f"{group.operation}:{algorithm}"
    command = [*ours.launch(group.ranks, oversubscribed), programs.find("collective"), "--op", group.operation,
               "--sizes", ",".join(map(str, plan.sizes)), "--mem", "cuda" if group.memory == "device" else "host",
               *plan.arguments]
    return run_json(command, plan.timeout, {**ours.environment(oversubscribed), "HEADRACE_TUNING_FILE": "off",
                                            "HEADRACE_COLL_FORCE": forced})


def _times(report: dict, group: Group) -> dict[int, float]:
    """By the bytes that selection goes by; of sizes that come to the same, the first."""
    times: dict[int, float] = {}
    for row in report["rows"]:
        bytes_ = row["bytes"] // group.ranks if group.operation in BLOCKS else row["bytes"]
        times.setdefault(bytes_, row["median"])
    return times
