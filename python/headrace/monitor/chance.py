"""Distinguishes the slowest rank from one that is slowest by chance.

Some rank always waits least, so naming one is meaningful only if it is the same rank more often than among equal ranks,
or if it waits so much less than the others that their differences do not explain it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

_RARE = 0.01  # probability that a rank is named although all ranks are alike
_NOTICEABLE = 0.02  # share of the time by which the rank waits less than the others' mean
_APART = 6.0  # standard deviations below the others' mean: the minimum of many is rarely that far off by chance
_MANY = 8  # minimum number of ranks for a meaningful standard deviation
_CLEAR = 0.2  # like _NOTICEABLE, among fewer ranks


def often(slowest: Iterable[int | None], ranks: int) -> tuple[int | None, int]:
    """Returns the rank that is the slowest in more intervals than chance explains, or None; and the number of intervals
    in which the most frequent one is the slowest."""
    counts = Counter(rank for rank in slowest if rank is not None)
    if not counts:
        return None, 0
    rank, most = counts.most_common(1)[0]
    named = ranks > 1 and ranks * _at_least(most, sum(counts.values()), 1 / ranks) < _RARE
    return (rank if named else None), most


def _at_least(hits: int, tries: int, probability: float) -> float:
    """Returns the probability of that many hits or more in a binomial distribution."""
    log = math.lgamma
    return min(1.0, sum(math.exp(log(tries + 1) - log(count + 1) - log(tries - count + 1) + count * math.log(probability)
                                 + (tries - count) * math.log1p(-probability)) for count in range(hits, tries + 1)))


def apart(waits: Sequence[tuple[int, float]]) -> int | None:
    """Returns the rank that differs from all others in one interval, or None. `waits`: ranks and the share of its time
    that each waits."""
    if len(waits) < 2:
        return None
    (rank, least), *others = sorted(waits, key=lambda each: each[1])
    mean = sum(wait for _, wait in others) / len(others)
    spread = math.sqrt(sum((wait - mean) ** 2 for _, wait in others) / max(1, len(others) - 1))
    return rank if mean - least > max(_NOTICEABLE if len(waits) >= _MANY else _CLEAR, _APART * spread) else None
