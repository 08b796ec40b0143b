"""Sums of MPI functions by node and over the cluster since this monitor's start, for metrics: they never decrease when a job ends.

A function gets its own sums when it is among those that took most time since the last reading, while there is room; the others are "other". So
neither a function's sums nor those of "other" ever lose what they have counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from headrace.monitor.model import Count, Sweep

_NAMED_MOST = 12  # functions with their own sums
_NAMED_LEAST = 0.05  # share of the time in MPI from which on a function gets its own sums
_HOSTS_MOST = 1024  # nodes with their own sums
_SIZES_MOST = 80  # classes of sizes
OTHER = "other"

Sums = dict[str, list[int]]  # count, bytes and ns, by function


@dataclass(frozen=True)
class Published:
    """What metrics show: counts, bytes and nanoseconds by function."""

    hosts: dict[str, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    cluster: dict[str, tuple[int, ...]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    left_out: int = 0
    files: dict[str, dict[str, int]] = field(default_factory=dict)  # bytes that each job's processes have read and written, by name


class RunningTotals:
    """Owner: the collector. Not thread-safe; published() is a copy."""

    def __init__(self) -> None:
        self.hosts: dict[str, Sums] = {}
        self.cluster: Sums = {}
        self.sizes: Counter[str] = Counter()  # messages sent, by class of size
        self.left_out = 0  # nodes without their own sums
        self._named: set[str] = set()
        self._before: dict[tuple[str, int], tuple[dict[str, Count], dict[str, Count]]] = {}
        self._files: dict[str, dict[int, dict[str, Count]]] = {}  # by job and rank, the last ones: those of a process disappear with it
        self._began: float | None = None  # time of the last reading

    def add(self, sweep: Sweep) -> None:
        """`sweep`: one with details. A rank that ran before the first reading counts from that reading on."""
        found: dict[str, dict[str, list[int]]] = {}
        now: dict[tuple[str, int], tuple[dict[str, Count], dict[str, Count]]] = {}
        beyond: set[str] = set()
        there = {reading.rank.job for reading in sweep.readings} | sweep.unseen
        self._files = {job: files for job, files in self._files.items() if job in there}
        for reading in sweep.readings:
            if reading.details is None:
                continue
            key, calls, sizes = (reading.rank.job, reading.rank.rank), reading.details.get("call", {}), reading.details.get("size", {})
            now[key] = calls, sizes
            if moved := reading.details.get("file"):
                self._files.setdefault(key[0], {})[key[1]] = moved
            before = self._before.get(key)
            if before is None:
                if self._began is None or reading.rank.began < self._began:
                    continue
                before = {}, {}
            self._add_sizes(sizes, before[1])
            host = reading.rank.host if reading.rank.host in self.hosts or len(self.hosts) + len(found.keys() - self.hosts.keys()) < _HOSTS_MOST else ""
            if not host:
                beyond.add(reading.rank.host)
            into = found.setdefault(host, {})
            for name, count in calls.items():
                old = before[0].get(name)
                more = [max(0, new - past) for new, past in zip(count, old)] if old else list(count)
                if any(more):
                    sums = into.setdefault(name, [0, 0, 0])
                    for place, value in enumerate(more):
                        sums[place] += value
        self._before, self._began, self.left_out = now, sweep.time, max(self.left_out, len(beyond))
        self._name(found)
        for host, functions in found.items():
            for name, more in functions.items():
                label = name if name in self._named else OTHER
                for sums in (self.cluster, *([self.hosts.setdefault(host, {})] if host else [])):
                    have = sums.setdefault(label, [0, 0, 0])
                    for place, value in enumerate(more):
                        have[place] += value

    def _add_sizes(self, sizes: dict[str, Count], before: dict[str, Count]) -> None:
        for name, count in sizes.items():
            more = count.count - (before[name].count if name in before else 0)
            if more > 0 and (name in self.sizes or len(self.sizes) < _SIZES_MOST):
                self.sizes[name] += more

    def _name(self, found: dict[str, dict[str, list[int]]]) -> None:
        if len(self._named) == _NAMED_MOST:
            return
        times: Counter[str] = Counter()
        for functions in found.values():
            for name, more in functions.items():
                times[name] += more[2]
        least = _NAMED_LEAST * sum(times.values())
        for name, time in sorted(times.items(), key=lambda item: (-item[1], item[0])):
            if len(self._named) < _NAMED_MOST and time > 0 and time >= least:
                self._named.add(name)

    @staticmethod
    def _moved(files: Iterable[dict[str, Count]]) -> dict[str, int]:
        found: Counter[str] = Counter()
        for each in files:
            for name, count in each.items():
                found[name] += count.bytes
        return dict(found)

    def published(self) -> Published:
        of = lambda sums: {name: tuple(values) for name, values in sums.items()}  # noqa: E731
        return Published({host: of(sums) for host, sums in self.hosts.items()}, of(self.cluster), dict(self.sizes), self.left_out, {job: self._moved(files.values()) for job, files in self._files.items()})
