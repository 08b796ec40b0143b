"""Reports ranks whose pages exist, ranks that have died without MPI_Finalize, and unreadable pages."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.doctor.finding import Finding, error, note, ok
from headrace.doctor.job.facts import JobFacts, ranks_of


def look(facts: JobFacts) -> Iterator[Finding]:
    for problem in facts.problems:
        yield note("ranks.unreadable", problem, "what that rank counted is not looked at")
    if not facts.jobs:
        yield note("ranks.none", "no job of this user runs on this host, as far as counters show", "",
                   "start it with this library; of one that has ended: mpiexec --save-counters FILE, then --job FILE")
    for job in facts.jobs:
        program = job.ranks[0].about.get("program", "?")
        yield ok("ranks.there", f"job {job.name}: {len(job.ranks)} of {job.size} ranks of {program}, "
                                f"{max(rank.seconds for rank in job.ranks):.0f} s")
        dead = [rank for rank in job.ranks if not rank.alive]
        if dead:
            yield error("ranks.dead", f"job {job.name}: {ranks_of(rank.rank for rank in dead)} ended without MPI_Finalize "
                                      f"(process {', '.join(str(rank.about.get('pid')) for rank in dead[:8])})",
                        "whoever waits for them gets an error, or the job has ended", "look at what mpiexec says of them")
