"""Checks the time that ranks wait in MPI, and for which rank: a rank that all others wait for has more work, or a
slower CPU or GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from headrace.doctor.finding import Finding, note, ok, warning
from headrace.doctor.job.facts import Job, JobFacts, numbers

_MUCH = 0.25   # fraction of the time
_SPREAD = 0.2  # difference between the ranks that wait most and least
_MOST_OF_IT = 0.5


def _waited_for(job: Job) -> tuple[int, float] | None:
    """Returns the rank that others waited for longest, and its share of all waiting time with a known cause."""
    waits: Counter = Counter()
    for rank in job.ranks:
        waits.update({other: time for other, time in rank.table("peer.wait").items() if isinstance(other, int)})
    if not waits:
        return None
    other, time = waits.most_common(1)[0]
    return other, time / sum(waits.values())


def look(facts: JobFacts) -> Iterator[Finding]:
    for job in facts.jobs:
        if len(job.ranks) < 2:
            continue
        waited = sorted(job.ranks, key=lambda rank: rank.waited)
        least, most = waited[0], waited[-1]
        mean = sum(rank.waited for rank in waited) / len(waited)
        evidence = (f"job {job.name}: ranks wait {mean:.0%} of their time in MPI, from {least.waited:.0%} (rank {least.rank}) to "
                    f"{most.waited:.0%} (rank {most.rank})")
        cause = _waited_for(job)
        if cause and cause[1] >= _MOST_OF_IT and len(job.ranks) > 2:
            evidence += f"; {cause[1]:.0%} of the waits with a known cause are for rank {cause[0]}"
        if most.waited - least.waited >= _SPREAD:
            few = [rank.rank for rank in waited if rank.waited <= least.waited + _SPREAD / 4]
            host = least.about.get("host", "?")
            yield warning("balance.uneven", evidence, f"the job goes at the speed of its slowest ranks ({numbers(few)})",
                          f"look what rank {least.rank} on {host} has more than others: work, a busy core, a slower GPU "
                          "(headrace top; headrace doctor there)")
        elif mean >= _MUCH:
            yield note("balance.waits", evidence, "all ranks wait alike: the exchange itself takes that time",
                       "overlap it with computation by non-blocking calls, or exchange less often")
        else:
            yield ok("balance.even", evidence)
