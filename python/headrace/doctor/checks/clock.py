"""Checks the clock that MPI_Wtime reads, and whether this is a virtual machine or a container."""

from __future__ import annotations

import os
from collections.abc import Iterator

from headrace.doctor.facts import Facts
from headrace.doctor.finding import Finding, note, ok, warning

_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_READ_BY_THE_PROGRAM = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")
_OF_CONTAINERS = ("/.dockerenv", "/run/.containerenv", "/singularity")


def look(facts: Facts) -> Iterator[Finding]:
    source = facts.read(_SOURCE)
    if source and source not in _READ_BY_THE_PROGRAM:
        yield warning("clock.slow", f"the clock source is {source} ({_SOURCE})",
                      "each MPI_Wtime is a system call of up to some microseconds; short times are measured wrong",
                      f"echo tsc >{_SOURCE} as root if available_clocksource has it, else boot with tsc=reliable")
    elif source:
        yield ok("clock.fast", f"the clock source is {source}: MPI_Wtime takes no system call")
    flags = next((line for line in (facts.read("/proc/cpuinfo") or "").splitlines() if line.startswith("flags")), "")
    if "hypervisor" in flags.split():
        yield note("clock.virtual", "this is a virtual machine (flag hypervisor in /proc/cpuinfo)",
                   "the host may take CPUs away (steal in /proc/stat): times differ from run to run",
                   "measure several times, take the median; for production: CPUs of the machine's own")
    seen = [path for path in _OF_CONTAINERS if os.path.exists(facts.path(path))]
    if seen:
        yield note("clock.container", f"this is a container ({seen[0]})",
                   "ranks in several containers share memory only with the same /dev/shm (and ids of processes, for single copy)",
                   "docker run --ipc=host --pid=host, where ranks of one host are in several containers")
