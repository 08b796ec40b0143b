"""Checks the time that ranks wait in MPI, and for which rank: a rank that all others wait for has more work, or a
slower CPU or GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from headrace.doctor.finding import Finding, note, ok, warning
from headrace.doctor.job.facts import Job, JobFacts, Rank, Slowest, numbers

_MUCH = 0.25   # fraction of the time
_SPREAD = 0.2  # difference between the ranks that wait most and least
_ALIKE = 0.1   # the same, up to which ranks wait alike
_MOST_OF_IT = 0.5


def _waited_for(job: Job) -> str:
    """Returns the rank that others waited for longest, if the cause of most waits is known: it is not in collective operations, for example."""
    waits: Counter = Counter()
    for rank in job.ranks:
        waits.update({other: time for other, time in rank.table("peer.wait").items() if isinstance(other, int)})
    known, all_ = sum(waits.values()), sum(rank.count("wait.time") for rank in job.ranks)
    if not known or known < _MOST_OF_IT * all_ or len(job.ranks) < 3:
        return ""
    other, time = waits.most_common(1)[0]
    if time < _MOST_OF_IT * known:
        return ""
    return f"; the cause of {min(1.0, known / max(1, all_)):.0%} of the waiting is known, and {time / known:.0%} of that is for rank {other}"


def look(facts: JobFacts) -> Iterator[Finding]:
    for job in facts.jobs:
        if len(job.ranks) < 2:
            continue
        waited = sorted(job.ranks, key=lambda rank: rank.waited)
        least, most = waited[0], waited[-1]
        mean, spread = sum(rank.waited for rank in waited) / len(waited), most.waited - least.waited
        evidence = (f"job {job.name}: ranks wait {mean:.0%} of their time in MPI, from {least.waited:.0%} (rank {least.rank}) to "
                    f"{most.waited:.0%} (rank {most.rank})")
        slow = next((rank for rank in waited if job.slowest and rank.rank == job.slowest.rank), None)
        few = [rank.rank for rank in waited if rank.waited <= least.waited + _SPREAD / 4]
        if slow and job.slowest:
            yield warning("balance.uneven", f"{evidence}; rank {slow.rank} waits least in {job.slowest.share:.0%} of {_time(job.slowest)}", f"the job goes at the speed of rank {slow.rank}", _remedy(slow))
        elif spread >= _SPREAD and job.history and len(few) == 1:
            yield warning("balance.uneven", f"{evidence}{_waited_for(job)}", "ranks wait for those with more to do, though no single rank is the slowest all the time",
                          "distribute the work more evenly (view Ranks of headrace monitor)")
        elif spread >= _SPREAD:
            yield warning("balance.uneven", f"{evidence}{_waited_for(job)}", f"the job goes at the speed of its slowest ranks ({numbers(few)})", _remedy(least))
        elif mean >= _MUCH and spread <= _ALIKE:
            yield note("balance.waits", f"{evidence}{_waited_for(job)}", "all ranks wait alike: the exchange itself takes that time",
                       "overlap it with computation by non-blocking calls, or exchange less often")
        elif mean >= _MUCH:
            yield note("balance.waits", f"{evidence}{_waited_for(job)}", "some ranks wait longer than others, and all of them wait: for the exchange itself, or for a rank that was slow for a while",
                       "look when the waiting began (view Timeline of headrace monitor); overlap the exchange with computation by non-blocking calls, or exchange less often")
        else:
            yield ok("balance.even", evidence)


def _time(slowest: Slowest) -> str:
    return "the time" if slowest.seconds is None else f"the {slowest.seconds:.0f} s in which it holds the others up"


def _remedy(rank: Rank) -> str:
    return f"look what rank {rank.rank} on {rank.about.get('host', '?')} has more than others: work, a busy core, a slower GPU (headrace top; headrace doctor there)"
