"""Checks NUMA nodes, automatic NUMA balancing, and transparent huge pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.doctor.facts import Facts
from headrace.doctor.finding import Finding, note, ok, warning

_PAGES = "/sys/kernel/mm/transparent_hugepage"


def _chosen(text: str | None) -> str | None:
    """Returns the selected word of text like "always [madvise] never"."""
    found = re.search(r"\[(\w+)\]", text or "")
    return found[1] if found else None


def look(facts: Facts) -> Iterator[Finding]:
    nodes = [name for name in facts.names("/sys/devices/system/node") if re.fullmatch(r"node\d+", name)]
    balancing = facts.number("/proc/sys/kernel/numa_balancing")
    if len(nodes) > 1 and balancing:
        yield warning("numa.balancing", f"{len(nodes)} NUMA nodes, and /proc/sys/kernel/numa_balancing is {balancing}",
                      "the kernel takes pages away to see who touches them, and moves them: faults in the middle of messages, "
                      "times that differ from run to run", "bind ranks (mpiexec does), and as root: sysctl kernel.numa_balancing=0")
    elif nodes:
        yield ok("numa.nodes", f"{len(nodes)} NUMA node{'s' if len(nodes) > 1 else ''}"
                 + (", automatic balancing is off" if len(nodes) > 1 else ""))
    enabled, defrag = _chosen(facts.read(f"{_PAGES}/enabled")), _chosen(facts.read(f"{_PAGES}/defrag"))
    if enabled == "never":
        yield note("numa.huge-pages-never", f"{_PAGES}/enabled is never",
                   "large arrays are reached through many small pages: some per cent of bandwidth",
                   f"as root: echo madvise >{_PAGES}/enabled (or always)")
    elif enabled == "always" and defrag == "always":
        yield note("numa.huge-pages-stall", f"{_PAGES}/defrag is always",
                   "a first touch of memory may wait until the kernel has made a huge page", f"as root: echo madvise >{_PAGES}/defrag")
    elif enabled:
        yield ok("numa.huge-pages", f"transparent huge pages: {enabled}")
