"""Finds messages that arrived before their receives, with their cost, and long queues of receives."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.doctor.facts import size
from headrace.doctor.finding import Finding, note, ok, warning
from headrace.doctor.job.facts import JobFacts

_MUCH = 64 << 20
_LONG = 2000


def look(facts: JobFacts) -> Iterator[Finding]:
    for job in facts.jobs:
        kept = max(job.ranks, key=lambda rank: rank.count("unexpected.most_bytes"))
        longest = max(job.ranks, key=lambda rank: max(rank.count("posted.most"), rank.count("unexpected.most")))
        if kept.count("unexpected.most_bytes") >= _MUCH:
            yield warning("queues.unexpected", f"job {job.name}: rank {kept.rank} kept up to "
                                               f"{size(kept.count('unexpected.most_bytes'))} of messages without a receive",
                          "each is copied twice, and the memory is the rank's", "post receives before others send: MPI_Irecv early")
        length = max(longest.count("posted.most"), longest.count("unexpected.most"))
        if length >= _LONG:
            yield note("queues.long", f"job {job.name}: up to {length:,} messages or receives waited at rank {longest.rank}",
                       "those with MPI_ANY_SOURCE or MPI_ANY_TAG are searched one after the other",
                       "receive from named ranks with few tags, or in smaller groups")
        if kept.count("unexpected.most_bytes") < _MUCH and length < _LONG:
            yield ok("queues.short", f"job {job.name}: at most {length:,} messages or receives waited")
