"""Compares the builds of the library on all hosts, which report them before anything is measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from headrace.doctor.finding import Finding, error, ok
from headrace.doctor.run.links import RunFacts

MISSING = "none"


def look(facts: RunFacts) -> Iterator[Finding]:
    if not facts.builds:
        return
    usual = Counter(facts.builds.values()).most_common(1)[0][0]
    others = [f"{host} has {'none' if build == MISSING else 'another one'}" for host, build in facts.builds.items() if build != usual]
    if others:
        yield error("builds.differ", f"{facts.library} is not the same on all hosts: {', '.join(others)}",
                    "ranks do not understand one another's messages: jobs end, hang, or deliver nonsense",
                    "install the same build at that path on all hosts (a file system that all see, or an image)")
    else:
        yield ok("builds.same", f"{len(facts.builds)} hosts have the same build of {facts.library}")
