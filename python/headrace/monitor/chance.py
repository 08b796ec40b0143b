"""Distinguishes a rank that holds the others up from one that is the slowest by chance.

Some rank always waits least, so naming one is meaningful only if it is the same rank much more often than among equal ranks, or if it waits so much less
than the others that their differences do not explain it. "The slowest in N % of the time" has one meaning everywhere: the sum of the lengths of the points
whose slowest rank it is, as a part of the length of all points, including those without a slowest rank.

Points that follow each other are not independent: other programs slow a rank down for seconds. So the evidence is counted in blocks of several seconds, and
a rank has to be the slowest in clearly more of them than its equal share.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

_RARE = 0.01  # probability that a rank is named although all ranks are alike
_EFFECT = 1.5  # times the equal share: a rank that is the slowest less often is never named
_BLOCK = 10.0  # seconds of a block; a longer point is one block
_CANDIDATES = 8  # number of ranks that are examined, those that are the slowest for most of the time
_NOTICEABLE = 0.02  # share of the time by which the rank waits less than the others' mean
_APART = 6.0  # standard deviations below the others' mean: the minimum of many is rarely that far off by chance
_MANY = 8  # minimum number of ranks for a meaningful standard deviation
_CLEAR = 0.2  # like _NOTICEABLE, among fewer ranks
_STEADY_BLOCKS, _STEADY = 3, 0.8  # minimum number of blocks of an interval, and share of them, in which a rank that is apart from the others is the slowest
_STEADY_PART = 0.05  # minimum part of the whole time that such an interval covers, if it is over

Waits = Sequence[tuple[int, float]]  # ranks, and the share of some time that each waits


class Seen(NamedTuple):
    """A point: its length, its slowest rank (None if all are alike), and how much less of the time that rank waits than the mean."""

    seconds: float
    slowest: int | None
    margin: float


class Held(NamedTuple):
    """The rank that holds the others up, in the points from `first` to before `last`, and the share of their time in which it is the slowest. `whole`: it is
    often the slowest, but in no interval most of the time; the points are then all."""

    rank: int
    first: int
    last: int
    share: float
    whole: bool


def share(line: Sequence[Seen], rank: int) -> float:
    """Returns the share of the time in which a rank is the slowest."""
    return sum(each.seconds for each in line if each.slowest == rank) / max(1e-9, sum(each.seconds for each in line))


def often(line: Sequence[Seen], ranks: int) -> Held | None:
    """Returns the rank that is the slowest more often than chance explains, in some interval or in the whole time."""
    if ranks < 2:
        return None
    candidates = _candidates(line)
    blocks = len(_blocks(line, -1))
    found = []
    for rank in candidates:
        first, last, more = _interval(line, rank)
        # Any of the intervals might have been found.
        if _rare(_blocks(line[first:last], rank), ranks, ranks * blocks * (blocks + 1) / 2):
            found.append((more, -rank, Held(rank, first, last, share(line[first:last], rank), False)))
    if found:
        return max(found)[2]
    return next((held(line, rank) for rank in candidates if _rare(_blocks(line, rank), ranks, ranks)), None)


def _candidates(line: Sequence[Seen]) -> list[int]:
    times: Counter[int] = Counter()
    for each in line:
        if each.slowest is not None:
            times[each.slowest] += each.seconds
    return [rank for rank, _ in times.most_common(_CANDIDATES)]


def held(line: Sequence[Seen], rank: int) -> Held:
    """Returns the interval in which the rank is the slowest most of the time, if that is at least half of the whole, or the whole."""
    first, last, _ = _interval(line, rank)
    whole = 2 * sum(each.seconds for each in line[first:last]) < sum(each.seconds for each in line)
    return Held(rank, 0, len(line), share(line, rank), True) if whole else Held(rank, first, last, share(line[first:last], rank), False)


def steady(line: Sequence[Seen], waits_in: Callable[[int, int], Waits]) -> Held | None:
    """Returns the rank that is the slowest in nearly all of an interval, and differs there from all others: this takes less time than often() needs."""
    rank, first, last, more = max(((rank, *_interval(line, rank)) for rank in _candidates(line)), key=lambda each: each[3], default=(0, 0, 0, 0.0))
    blocks, seconds = _blocks(line[first:last], rank), sum(each.seconds for each in line[first:last])
    over = sum(each.seconds for each in line[last:])
    if len(blocks) < _STEADY_BLOCKS or sum(blocks) < _STEADY * len(blocks) or over >= _BLOCK and seconds < _STEADY_PART * (sum(each.seconds for each in line)):
        return None
    return Held(rank, first, last, share(line[first:last], rank), False) if apart(waits_in(first, last)) == rank else None


def find(line: Sequence[Seen], waits: Waits, waits_in: Callable[[int, int], Waits]) -> Held | None:
    """Returns the rank that holds the others up, by often(), by steady(), or, in the whole time, by apart(). `waits`: those of the whole time; `waits_in`:
    those of the points from the first argument to before the second."""
    if found := often(line, len(waits)) or steady(line, waits_in):
        return found
    if len(waits) < _MANY and sum(each.seconds for each in line) < _STEADY_BLOCKS * _BLOCK:
        return None
    rank = apart(waits)
    return held(line, rank) if rank is not None and share(line, rank) >= _EFFECT / len(waits) else None


def _interval(line: Sequence[Seen], rank: int) -> tuple[int, int, float]:
    """Returns the bounds of the interval in which the rank is the slowest most of the time, and by how many seconds: the one with the largest difference.
    Points in which it waits almost as long as the others do not begin or continue an interval in which it waits much less."""
    first, last, more = _longest(line, rank, 0.0)
    margins = sorted(each.margin for each in line[first:last] if each.slowest == rank)
    return _longest(line, rank, margins[len(margins) // 2] / 2) if margins else (first, last, more)


def _longest(line: Sequence[Seen], rank: int, least: float) -> tuple[int, int, float]:
    best, sum_, begin, found = 0.0, 0.0, 0, (0, 0)
    for place, each in enumerate(line):
        if sum_ <= 0:
            sum_, begin = 0.0, place
        sum_ += each.seconds if each.slowest == rank and each.margin >= least else -each.seconds
        if sum_ > best:
            best, found = sum_, (begin, place + 1)
    return *found, best


def _blocks(line: Sequence[Seen], rank: int) -> list[bool]:
    """Returns for each block of the time: true if the rank is the slowest in most of it. A remainder of less than half a block does not count."""
    found, whole, part = [], 0.0, 0.0
    for place, each in enumerate(line):
        whole += each.seconds
        part += each.seconds if each.slowest == rank else 0.0
        if whole >= _BLOCK or place == len(line) - 1 and whole >= _BLOCK / 2:
            found.append(2 * part > whole)
            whole = part = 0.0
    return found


def _rare(blocks: Sequence[bool], ranks: int, tries: float) -> bool:
    """True if so many blocks are hardly those of a rank that has _EFFECT times its equal share, even in as many `tries`."""
    return bool(blocks) and tries * _at_least(sum(blocks), len(blocks), min(0.99, _EFFECT / ranks)) < _RARE


def _at_least(hits: int, tries: int, probability: float) -> float:
    """Returns the probability of that many hits or more in a binomial distribution."""
    log = math.lgamma
    return min(1.0, sum(math.exp(log(tries + 1) - log(count + 1) - log(tries - count + 1) + count * math.log(probability)
                                 + (tries - count) * math.log1p(-probability)) for count in range(hits, tries + 1)))


def apart(waits: Waits) -> int | None:
    """Returns the rank that differs from all others in one interval, or None. `waits`: ranks and the share of its time
    that each waits."""
    if len(waits) < 2:
        return None
    (rank, least), *others = sorted(waits, key=lambda each: each[1])
    mean = sum(wait for _, wait in others) / len(others)
    spread = math.sqrt(sum((wait - mean) ** 2 for _, wait in others) / max(1, len(others) - 1))
    return rank if mean - least > max(_NOTICEABLE if len(waits) >= _MANY else _CLEAR, _APART * spread) else None
