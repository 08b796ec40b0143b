"""Whether it is more than chance that a rank is the slowest one.

Of any ranks one waits least, so a name means something only where the same one comes up more often than it would if all were alike,
or where it waits so much less than the others that their own differences do not explain it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

_RARE = 0.01  # how often a name may come up where all ranks are alike
_NOTICEABLE = 0.02  # of the time, by which it waits less than the others do on average
_APART = 6.0  # standard deviations of the others below their mean: the least of many seldom gets so far by itself
_MANY = 8  # ranks, from which on their standard deviation says something
_CLEAR = 0.2  # of the time: the same among fewer


def often(slowest: Iterable[int | None], ranks: int) -> tuple[int | None, int]:
    """The rank that is the slowest in more of the stretches than chance explains, or None; and in how many the most frequent one was."""
    counts = Counter(rank for rank in slowest if rank is not None)
    if not counts:
        return None, 0
    rank, most = counts.most_common(1)[0]
    named = ranks > 1 and ranks * _at_least(most, sum(counts.values()), 1 / ranks) < _RARE
    return (rank if named else None), most


def _at_least(hits: int, tries: int, probability: float) -> float:
    """Of a binomial distribution: how likely so many hits are, or more."""
    log = math.lgamma
    return min(1.0, sum(math.exp(log(tries + 1) - log(count + 1) - log(tries - count + 1) + count * math.log(probability)
                                 + (tries - count) * math.log1p(-probability)) for count in range(hits, tries + 1)))


def apart(waits: Sequence[tuple[int, float]]) -> int | None:
    """Of (rank, share of the time that it waits) in one stretch: the rank that stands apart from all others, or None."""
    if len(waits) < 2:
        return None
    (rank, least), *others = sorted(waits, key=lambda each: each[1])
    mean = sum(wait for _, wait in others) / len(others)
    spread = math.sqrt(sum((wait - mean) ** 2 for _, wait in others) / max(1, len(others) - 1))
    return rank if mean - least > max(_NOTICEABLE if len(waits) >= _MANY else _CLEAR, _APART * spread) else None
