"""Finds many short messages from one rank to another, which could be combined."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.doctor.finding import Finding, note, ok
from headrace.doctor.job.facts import JobFacts, Rank

_SHORT = 256          # mean bytes
_MANY = 100_000       # messages per second to one rank


def _busiest(rank: Rank) -> tuple[float, float, int] | None:
    """Returns the rate per second, mean length and destination of the most frequent short messages."""
    sizes = rank.table("peer.bytes")
    found = [(count / rank.seconds, sizes.get(peer, 0) / count, peer)
             for peer, count in rank.table("peer.messages").items() if isinstance(peer, int)]
    short = [each for each in found if each[1] < _SHORT]
    return max(short) if short else None


def look(facts: JobFacts) -> Iterator[Finding]:
    for job in facts.jobs:
        busiest = [(found, rank.rank) for rank in job.ranks if (found := _busiest(rank))]
        if not busiest or max(busiest)[0][0] < _MANY:
            yield ok("messages.short", f"job {job.name}: no rank sends another one {_MANY:,} short messages a second")
            continue
        (rate, mean, peer), rank = max(busiest)
        yield note("messages.short", f"job {job.name}: rank {rank} sends rank {peer} {rate:,.0f} messages a second of {mean:.0f} "
                                     "bytes on the mean",
                   "each costs as much as its first 256 bytes or so", "send several together: one buffer, a datatype, or "
                   "MPI_Neighbor_alltoallw")
