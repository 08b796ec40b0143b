"""Checks the share of a link's speed that remains when all ranks communicate in pairs: it falls if they share a switch,
a card or memory."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from headrace.doctor.finding import Finding, note, ok
from headrace.doctor.run.links import HOST_AND_GPUS, RunFacts

_LEFT = 0.6


def look(facts: RunFacts) -> Iterator[Finding]:
    for links in facts.measured:
        both = [links.stream[pair] / time for pair, time in links.together.items() if pair in links.stream]
        if not links.in_company or not both:
            continue
        left = statistics.median(both)
        busy = "all GPUs busy" if links.what == HOST_AND_GPUS else f"all {links.what} busy in pairs"
        evidence = f"with {busy} each link {'between host and GPU ' if links.what == HOST_AND_GPUS else ''}carries {left:.0%} of what it carries alone"
        if left < _LEFT:
            yield note("together.shared", evidence, "neighbours that talk at once slow one another down",
                       "a shared uplink, card or memory: put ranks that talk most on one host (mpiexec --map-by)")
        else:
            yield ok("together.apart", evidence)
