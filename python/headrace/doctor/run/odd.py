"""Finds links that are slower than the others of their kind, and by how much."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from headrace.doctor.finding import Finding, ok, warning
from headrace.doctor.run.links import Links, RunFacts, slower

_ODD = 1.5   # multiple of the median
_SHOWN = 5
_REMEDY = {
    "hosts": "look at that cable, port, and interface (ethtool, ibstat, counters of errors), and at what else uses it",
    "GPUs": "headrace doctor --only gpu: peer access, NVLink, MIG; nvidia-smi topo -m or rocm-smi --showtopo shows how they are joined",
    "host and GPUs": "nvidia-smi -q -d PERFORMANCE and lspci -vv (LnkSta) say whether the slot's speed and width are what they should be; "
                     "a rank near its GPU: headrace map, mpiexec --map-by",
    "cores": "these are further apart (another cache, another socket), or busy: bind ranks that talk most near to one another",
}


def _named(links: Links, odd: list[tuple[float, tuple[int, int]]], arrow: str) -> str:
    named = ", ".join(f"{links.between(pair, arrow)} ({factor:.1f} times)" for factor, pair in odd[:_SHOWN])
    return named + (f" and {len(odd) - _SHOWN} more" if len(odd) > _SHOWN else "")


def latency(facts: RunFacts) -> Iterator[Finding]:
    for links in facts.measured:
        if not links.latency:
            continue
        odd = [each for each in slower(links.latency) if each[0] >= _ODD]
        usual = f"{statistics.median_low(links.latency.values()):.1f} us for 8 bytes between {links.what}"
        if odd:
            worst = links.latency[odd[0][1]]
            yield warning("latency.odd", f"{usual}, {worst:.1f} between {_named(links, odd, '-')}",
                          "short messages and collectives wait for the slowest link", _REMEDY[links.what])
        else:
            yield ok("latency.even", f"{usual}, {max(links.latency.values()):.1f} at most")


def bandwidth(facts: RunFacts) -> Iterator[Finding]:
    for links in facts.measured:
        odd = [each for each in slower(links.stream) if each[0] >= _ODD]
        usual = f"{links.rate(statistics.median_low(links.stream.values()))} between {links.what}"
        if odd:
            worst = links.rate(links.stream[odd[0][1]])
            yield warning("bandwidth.odd", f"{usual}, {worst} over {_named(links, odd, '->')}",
                          "an exchange among all goes at the speed of the slowest link", _REMEDY[links.what])
        else:
            yield ok("bandwidth.even", f"{usual}, {links.rate(max(links.stream.values()))} at least")
