"""Limits of this process's cgroup (both versions), compared with the machine's resources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from headrace.doctor.facts import Facts, size
from headrace.doctor.finding import Finding, note, ok, warning

_ROOT = "/sys/fs/cgroup"


def _places(facts: Facts, controller: str) -> Iterator[str]:
    """Returns the directories whose limits apply to this process, from its own cgroup upwards."""
    for line in (facts.read("/proc/self/cgroup") or "0::/").splitlines():
        _, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        if controllers and controller not in controllers.split(","):
            continue
        tops = [f"{_ROOT}/{controllers}", f"{_ROOT}/{controller}"] if controllers else [_ROOT, f"{_ROOT}/unified"]
        own = PurePosixPath("/" + path.lstrip("/"))
        for top in tops:
            for above in (own, *own.parents):
                yield top + str(above).rstrip("/")


def _values(facts: Facts, controller: str, name: str) -> Iterator[tuple[str, str]]:
    for place in dict.fromkeys(_places(facts, controller)):
        text = facts.read(f"{place}/{name}")
        if text:
            yield f"{place}/{name}", text


def memory_limit(facts: Facts) -> tuple[int, str] | None:
    """Returns the lowest limit in bytes, and its file."""
    found = [(int(text), file) for name in ("memory.max", "memory.limit_in_bytes")
             for file, text in _values(facts, "memory", name) if text.isdigit()]
    return min(found, default=None)


def cpu_limit(facts: Facts) -> tuple[float, str] | None:
    """Returns the lowest quota in CPUs, and its file."""
    found = []
    for file, text in _values(facts, "cpu", "cpu.max"):
        quota, _, period = text.partition(" ")
        if quota.isdigit():
            found.append((int(quota) / int(period or 100000), file))
    for file, text in _values(facts, "cpu", "cpu.cfs_quota_us"):
        if text.isdigit():
            period = facts.number(file.replace("quota", "period")) or 100000
            found.append((int(text) / period, file))
    return min(found, default=None)


def memory_of_machine(facts: Facts) -> int | None:
    for line in (facts.read("/proc/meminfo") or "").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None


def look(facts: Facts) -> Iterator[Finding]:
    has, limit = memory_of_machine(facts), memory_limit(facts)
    if limit and has and limit[0] < has:
        share = f"{size(limit[0] // len(facts.affinity))} for each of {len(facts.affinity)} CPUs"
        text = f"{limit[1]} allows {size(limit[0])} of the machine's {size(has)}: {share}"
        cost = "a job that takes more is killed (signal 9), its files in /dev/shm included in the count"
        remedy = "ask for more memory (docker run --memory, sbatch --mem), or run fewer ranks"
        few = limit[0] < (1 << 30) * len(facts.affinity)
        yield warning("cgroup.memory", text, cost, remedy) if few else note("cgroup.memory", text, cost, remedy)
    elif has:
        yield ok("cgroup.memory-free", f"all of the machine's {size(has)} of memory may be used")
    quota = cpu_limit(facts)
    if quota and quota[0] < len(facts.affinity):
        yield warning("cgroup.cpu", f"{quota[1]} allows the time of {quota[0]:g} CPUs, where {len(facts.affinity)} may be used",
                      "ranks that wait poll; when the quota is used up, all of them stand still for the rest of each period",
                      f"run at most {max(int(quota[0]), 1)} ranks, or ask for more (docker run --cpus); better whole CPUs "
                      "(--cpuset-cpus)")
    else:
        yield ok("cgroup.cpu-free", "no quota on the time of CPUs")
