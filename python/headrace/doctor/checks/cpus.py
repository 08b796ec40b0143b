"""Checks the CPUs: the usable ones, hardware threads per core, and the frequency governor."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from headrace.doctor.facts import Facts, cpu_list, ranges
from headrace.doctor.finding import Finding, note, ok, warning

_CPUS = "/sys/devices/system/cpu"
_OWN_GOVERNORS = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")  # drivers whose governor "powersave" follows the load


def _use(facts: Facts) -> Iterator[Finding]:
    online = facts.cpus_online()
    usable = facts.affinity
    if facts.asked_affinity is None:
        yield warning("cpus.not-told", "this system does not say which CPUs a process may use (sched_getaffinity is refused)",
                      "mpiexec takes what /proc says, or all CPUs, and may not be able to bind ranks",
                      "allow the call (docker run --security-opt seccomp=...); or mpiexec --bind-to none")
        return
    if not online:
        return
    if not online - usable:
        yield ok("cpus.all", f"all {len(online)} CPUs may be used")
        return
    text = f"this process may use {len(usable)} of {len(online)} CPUs: {','.join(ranges(usable))}"
    if any(name in facts.environment for name in ("SLURM_JOB_ID", "PBS_JOBID")):
        yield note("cpus.allocation", text + " (a batch job)")
    else:
        yield warning("cpus.narrowed", text, "all ranks started here share these; more ranks than that wait for one another",
                      "start from a shell that is not bound (taskset, numactl, docker --cpuset-cpus); in a container ask for more")


def _threads(facts: Facts) -> Iterator[Finding]:
    siblings = {cpu_list(facts.read(f"{_CPUS}/cpu{cpu}/topology/thread_siblings_list") or str(cpu)) for cpu in facts.affinity}
    if len(siblings) < len(facts.affinity):
        yield note("cpus.smt", f"{len(facts.affinity)} CPUs are the threads of {len(siblings)} cores",
                   "two ranks on one core each get about half of it", f"up to {len(siblings)} ranks; mpiexec counts cores")


def _governor(facts: Facts) -> Iterator[Finding]:
    found = Counter()
    driver = ""
    for cpu in filter(re.compile(r"cpu\d+").fullmatch, facts.names(_CPUS)):
        governor = facts.read(f"{_CPUS}/{cpu}/cpufreq/scaling_governor")
        if governor:
            found[governor] += 1
            driver = facts.read(f"{_CPUS}/{cpu}/cpufreq/scaling_driver") or ""
    slow = [name for name in found if name in ("powersave", "conservative", "ondemand")]
    remedy = "as root: cpupower frequency-set -g performance"
    shown = ", ".join(f"{count} CPUs {name}" for name, count in found.items())
    if slow and driver not in _OWN_GOVERNORS:
        yield warning("cpus.governor", f"{_CPUS}/cpu*/cpufreq/scaling_governor: {shown} ({driver or 'unknown driver'})",
                      "cores run below their speed, or take a while to reach it: latencies grow and differ", remedy)
    elif slow:
        yield note("cpus.governor-follows", f"scaling_governor: {shown} ({driver})",
                   "cores slow down between short runs: measure with warm-up", remedy)
    elif found:
        yield ok("cpus.governor-fast", f"scaling_governor: {shown}")


def look(facts: Facts) -> Iterator[Finding]:
    yield from _use(facts)
    yield from _threads(facts)
    yield from _governor(facts)
