"""Single copy: tests whether a rank may read another's memory, and determines the cause if it may not."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.doctor.facts import Facts
from headrace.doctor.finding import Finding, note, ok, warning

_YAMA = "/proc/sys/kernel/yama/ptrace_scope"


def _remedy(facts: Facts, scope: int | None) -> str:
    if scope is not None and scope >= 2:
        return f"as root: echo 1 >{_YAMA}" + (" (from 3 it takes a reboot)" if scope == 3 else "")
    seccomp = "Seccomp:\t2" in (facts.read("/proc/self/status") or "")
    if seccomp:
        return "a seccomp filter is in force: docker run --cap-add SYS_PTRACE, or --security-opt seccomp=unconfined"
    return "start the container with --cap-add SYS_PTRACE; ranks must have the same user and see each other's processes"


def look(facts: Facts) -> Iterator[Finding]:
    if facts.environment.get("HEADRACE_SHM_SINGLE_COPY", "").lower() == "off":
        yield note("single-copy.off", "HEADRACE_SHM_SINGLE_COPY is off",
                   "long messages between ranks of a host are copied twice", "unset it")
        return
    scope = facts.number(_YAMA)
    yama = "" if scope is None else f"; {_YAMA} is {scope}"
    reason = facts.try_single_copy()
    if reason:
        yield warning("single-copy.refused", f"process_vm_readv between two processes: {reason}{yama}",
                      "long messages between ranks of a host are copied twice; windows on memory of the program need the target's help",
                      _remedy(facts, scope))
    else:
        yield ok("single-copy.works", f"process_vm_readv works between two processes (tried){yama}")
