"""From times to rows of the selection table. Pure.

The built-in choice stays wherever another algorithm is not better beyond doubt: three quarters of its rounds are faster
than three quarters of the other's, and the median of the ratios has a margin. Among hundreds of comparisons some look
so by chance, so what is chosen first is measured again. A row holds for the numbers of ranks above half of the one that was measured,
up to it, and for those of one host.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

DEFAULT = "default"  # the built-in choice
MARGIN = 0.05  # that an algorithm must gain over it
CLOSE = 0.03   # so near the best, the choice of the next smaller size is kept

Times = dict[str, dict[int, list[float]]]  # algorithm, bytes as selection counts them, a time for each round


@dataclass(frozen=True)
class Choice:
    bytes: int
    algorithm: str
    ratio: float  # of its time to the built-in choice's


@dataclass(frozen=True)
class Group:
    """One operation at one number of ranks in one kind of memory."""

    operation: str
    ranks: int
    oversubscribed: bool  # more than there are CPUs
    memory: str  # host, device


def choose(times: Times) -> list[Choice]:
    """For each size, in ascending order."""
    choices: list[Choice] = []
    for size in sorted(times[DEFAULT]):
        ratios = {name: _ratio(by_size[size], times[DEFAULT][size]) for name, by_size in times.items()
                  if name != DEFAULT and size in by_size}
        better = {name: ratio for name, ratio in ratios.items() if ratio is not None}
        best = min(better, key=better.get, default=DEFAULT)
        if choices and choices[-1].algorithm in better and better[choices[-1].algorithm] <= better[best] * (1 + CLOSE):
            best = choices[-1].algorithm
        choices.append(Choice(size, best, better.get(best, 1.0)))
    return choices


def winners(choices: dict[Group, list[Choice]]) -> dict[Group, list[str]]:
    """Of the groups where something would change: the algorithms to measure again, the built-in choice first."""
    names = {group: dict.fromkeys(choice.algorithm for choice in of_group) for group, of_group in choices.items()}
    return {group: list(dict.fromkeys([DEFAULT, *found])) for group, found in names.items() if set(found) != {DEFAULT}}


def _ratio(times: list[float], standard: list[float]) -> float | None:
    """The median over the rounds where it is better beyond doubt."""
    ratios = [ours / theirs for ours, theirs in zip(times, standard) if theirs > 0]
    if not ratios or _quartile(times, 3) >= _quartile(standard, 1):
        return None
    median = statistics.median(ratios)
    return median if median <= 1 - MARGIN else None


def _quartile(times: list[float], number: int) -> float:
    return statistics.quantiles(times, method="inclusive")[number - 1] if len(times) > 1 else times[0]


def rows(chosen: dict[Group, list[Choice]]) -> list[dict]:
    """The rows of a tuning file, in the order they are tried."""
    table = []
    for operation, memory, oversubscribed in dict.fromkeys((g.operation, g.memory, g.oversubscribed) for g in chosen):
        groups = sorted((g for g in chosen if (g.operation, g.memory, g.oversubscribed) == (operation, memory, oversubscribed)),
                        key=lambda group: group.ranks)
        table += _rows_of(groups, chosen)
    return table


def _rows_of(groups: list[Group], chosen: dict[Group, list[Choice]]) -> list[dict]:
    found: list[dict] = []
    below = 1
    for group in groups:
        fixed = {"operation": group.operation}
        rest = {"max_hosts": 1, "memory": group.memory, "oversubscribed": group.oversubscribed}
        half = group.ranks // 2
        if half > below:  # nothing is known between
            found.append({**fixed, "max_ranks": half, **rest, "algorithm": DEFAULT})
        below = group.ranks
        for algorithm, largest in _runs(chosen[group]):
            found.append({**fixed, **({} if largest is None else {"max_bytes": largest}), "max_ranks": group.ranks,
                          **rest, "algorithm": algorithm})
    while found and found[-1]["algorithm"] == DEFAULT:  # as without them
        found.pop()
    return found


def _runs(choices: list[Choice]) -> list[tuple[str, int | None]]:
    """Neighbours of one algorithm as one; above the largest size measured, the built-in choice."""
    runs: list[tuple[str, int | None]] = []
    for choice in choices:
        if runs and runs[-1][0] == choice.algorithm:
            runs.pop()
        runs.append((choice.algorithm, choice.bytes))
    if runs and runs[-1][0] == DEFAULT:
        runs.pop()
    return [*runs, (DEFAULT, None)]
