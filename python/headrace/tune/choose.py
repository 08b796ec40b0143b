"""Derives rows of the selection table from times. Pure functions.

The built-in choice stays unless another algorithm is better beyond doubt: three quarters of its rounds are faster than three quarters of
the other's, and the median of the ratios exceeds a margin. Among hundreds of comparisons, some meet this by chance, so
the first choices are measured again. A row applies to numbers of ranks up to the measured one and above half of it, and
likewise for hosts and for ranks per host; rows for one host apply only to one host.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Optional

from headrace.bench.figure import number, size_text

DEFAULT = "default"  # the built-in choice
MARGIN = 0.05  # minimum gain of an algorithm over the built-in choice
CLOSE = 0.03   # an algorithm this close to the best keeps the choice of the next smaller size

Times = dict[str, dict[int, list[float]]]  # times, one per round, by algorithm and by bytes as selection counts them


@dataclass(frozen=True)
class Choice:
    bytes: int
    algorithm: str
    ratio: float  # ratio of its time to that of the built-in choice
    before: float = 0.0  # time with the built-in choice, in microseconds
    after: float = 0.0
    rounds: int = 0

    @property
    def changes(self) -> bool:
        return self.algorithm != DEFAULT


@dataclass(frozen=True)
class Group:
    """One operation with one number of ranks and one kind of memory."""

    operation: str
    ranks: int
    oversubscribed: bool  # there are more ranks than CPUs
    memory: str  # host, device
    hosts: int = 1
    each: int = 0  # number of ranks on each host, if there are several hosts

    def where(self) -> str:
        return f"{self.ranks} ranks" if self.hosts == 1 else f"{self.hosts} hosts x {self.each}"


def choose(times: Times) -> list[Choice]:
    """Returns a choice for each size, in ascending order."""
    choices: list[Choice] = []
    for size in sorted(times[DEFAULT]):
        standard = times[DEFAULT][size]
        ratios = {name: _ratio(by_size[size], standard) for name, by_size in times.items() if name != DEFAULT and size in by_size}
        better = {name: ratio for name, ratio in ratios.items() if ratio is not None}
        best = min(better, key=better.get, default=DEFAULT)
        if choices and choices[-1].algorithm in better and better[choices[-1].algorithm] <= better[best] * (1 + CLOSE):
            best = choices[-1].algorithm
        choices.append(Choice(size, best, better.get(best, 1.0), statistics.median(standard), statistics.median(times[best][size]),
                              len(standard)))
    return choices


def winners(choices: dict[Group, list[Choice]]) -> dict[Group, list[str]]:
    """Returns, for the groups with changes, the algorithms to measure again, the built-in choice first."""
    names = {group: dict.fromkeys(choice.algorithm for choice in of_group) for group, of_group in choices.items()}
    return {group: list(dict.fromkeys([DEFAULT, *found])) for group, found in names.items() if set(found) != {DEFAULT}}


def _ratio(times: list[float], standard: list[float]) -> float | None:
    """Returns the median ratio over the rounds; None unless it is better beyond doubt."""
    ratios = [ours / theirs for ours, theirs in zip(times, standard) if theirs > 0]
    if not ratios or _quartile(times, 3) >= _quartile(standard, 1):
        return None
    median = statistics.median(ratios)
    return median if median <= 1 - MARGIN else None


def _quartile(times: list[float], number_: int) -> float:
    return statistics.quantiles(times, method="inclusive")[number_ - 1] if len(times) > 1 else times[0]


Place = tuple[str, Optional[str], bool, Optional[bool]]  # measured together: operation, memory, over hosts, oversubscribed


def _place(row: dict) -> Place:
    over_hosts = row.get("max_hosts") != 1
    return row["operation"], row.get("memory"), over_hosts, None if over_hosts else row.get("oversubscribed")


def _separates(row: dict) -> bool:
    return row.get("max_hosts") == 1 and row["algorithm"] == DEFAULT and "max_ranks" not in row and "max_bytes" not in row


def merged(old: list[dict], chosen: dict[Group, list[Choice]]) -> list[dict]:
    """Merges new rows with an earlier file's rows for groups that were not measured now."""
    measured = {(g.operation, g.memory, g.hosts > 1, None if g.hosts > 1 else g.oversubscribed) for g in chosen}
    table = [row for row in old if not _separates(row) and _place(row) not in measured] + rows(chosen)
    order = list(dict.fromkeys((row["operation"], row.get("memory")) for row in table))
    table.sort(key=lambda row: (order.index((row["operation"], row.get("memory"))), _place(row)[2], bool(_place(row)[3])))
    found: list[dict] = []
    for row in table:
        operation, memory, over_hosts, _ = _place(row)
        if over_hosts and (not found or _place(found[-1])[:3] != (operation, memory, True)):
            # The rows above apply to some sizes and numbers of ranks on one host; other jobs on one host must not reach the rows
            # below.
            found.append({"operation": operation, "max_hosts": 1, **({"memory": memory} if memory else {}), "algorithm": DEFAULT,
                          "why": "the rows below were measured over several hosts"})
        found.append(row)
    return found


def rows(chosen: dict[Group, list[Choice]]) -> list[dict]:
    """Returns the rows of a tuning file, in the order in which they are tried: one host before several."""
    table = []
    for operation, memory in dict.fromkeys((g.operation, g.memory) for g in chosen):
        of_these = [group for group in chosen if (group.operation, group.memory) == (operation, memory)]
        for oversubscribed in (False, True):
            here = [group for group in of_these if group.hosts == 1 and group.oversubscribed == oversubscribed]
            table += _rows_of_one_host(sorted(here, key=lambda group: group.ranks), chosen)
        table += _rows_of_hosts(sorted((group for group in of_these if group.hosts > 1), key=lambda g: (g.hosts, g.each)), chosen)
    return table


_BETWEEN = "nothing was measured for so few"


def _rows_of_one_host(groups: list[Group], chosen: dict[Group, list[Choice]]) -> list[dict]:
    found: list[dict] = []
    below = 1
    for group in groups:
        rest = {"max_hosts": 1, "memory": group.memory, "oversubscribed": group.oversubscribed}
        half = group.ranks // 2
        if half > below:  # no number between these was measured
            found.append({"operation": group.operation, "max_ranks": half, **rest, "algorithm": DEFAULT, "why": _BETWEEN})
        below = group.ranks
        found += _runs(group, chosen[group], {"max_ranks": group.ranks, **rest})
    return _without_tail(found)


def _rows_of_hosts(groups: list[Group], chosen: dict[Group, list[Choice]]) -> list[dict]:
    found: list[dict] = []
    hosts, each = 1, 0
    for group in groups:
        rest = {"memory": group.memory}
        if group.hosts != hosts:
            half = group.hosts // 2
            if half > hosts:
                found.append({"operation": group.operation, "max_hosts": half, **rest, "algorithm": DEFAULT, "why": _BETWEEN})
            hosts, each = group.hosts, 0
        if group.each // 2 > each:
            found.append({"operation": group.operation, "max_hosts": hosts, "max_ranks_per_host": group.each // 2, **rest,
                          "algorithm": DEFAULT, "why": _BETWEEN})
        each = group.each
        found += _runs(group, chosen[group], {"max_hosts": hosts, "max_ranks_per_host": each, **rest})
    return _without_tail(found)


def _without_tail(found: list[dict]) -> list[dict]:
    while found and found[-1]["algorithm"] == DEFAULT:  # drops rows that change nothing
        found.pop()
    return found


def _runs(group: Group, choices: list[Choice], where: dict) -> list[dict]:
    """Combines adjacent sizes with the same algorithm into one row; above the largest measured size, the built-in
    choice applies."""
    runs: list[list[Choice]] = []
    for choice in choices:
        if runs and runs[-1][0].algorithm == choice.algorithm:
            runs[-1].append(choice)
        else:
            runs.append([choice])
    if runs and not runs[-1][0].changes:
        runs.pop()
    found = [{"operation": group.operation, "max_bytes": run[-1].bytes, **where, "algorithm": run[0].algorithm, "why": why(run)} for run in runs]
    return [*found, {"operation": group.operation, **where, "algorithm": DEFAULT, "why": "nothing faster was found for longer ones"}]


def why(run: list[Choice]) -> str:
    """Returns a sentence with the figures for adjacent sizes with the same algorithm."""
    if not run[0].changes:
        return "no algorithm was faster beyond doubt"
    best = min(run, key=lambda choice: choice.ratio)
    ratio = statistics.median(choice.ratio for choice in run)
    return (f"{ratio:.2f} of the built-in choice's time; at {size_text(best.bytes)} {number(best.after)} us instead of "
            f"{number(best.before)}, {best.rounds} rounds")
