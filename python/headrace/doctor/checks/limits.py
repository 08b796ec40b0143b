"""Limits of a process: memory that it may lock, files that it may open."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.doctor.facts import UNLIMITED, Facts, size
from headrace.doctor.finding import Finding, note, ok, warning

_FILES_OF_A_RANK = 8  # its pipes and sockets at mpiexec, with room
_FILES_BESIDE = 64


def _raise_to(hard: int, want: int, option: str, unit: int, item: str) -> str:
    if hard == UNLIMITED or hard >= want:
        return f"ulimit {option} {'unlimited' if hard == UNLIMITED else hard // unit}"
    return f"{item} in /etc/security/limits.conf (docker run --ulimit; in Slurm the limits of slurmd)"


def _locked(facts: Facts) -> Iterator[Finding]:
    soft, hard = facts.locked
    rdma = facts.rdma_devices()
    if soft == UNLIMITED:
        yield ok("limits.locked-free", "locked memory is not limited")
    elif rdma:
        yield warning("limits.locked", f"a process may lock {size(soft)} (ulimit -l); there are RDMA devices ({', '.join(rdma)})",
                      "memory cannot be registered with the network: messages to other hosts fail, or go over TCP",
                      _raise_to(hard, 1 << 62, "-l", 1024, "\"* - memlock unlimited\""))
    else:
        yield ok("limits.locked-unused", f"a process may lock {size(soft)}; there is no RDMA device that needs it")


def _files(facts: Facts) -> Iterator[Finding]:
    soft, hard = facts.files
    want = _FILES_BESIDE + _FILES_OF_A_RANK * len(facts.affinity)
    if soft != UNLIMITED and soft < want:
        yield warning("limits.files", f"a process may have {soft} files open (ulimit -n); mpiexec wants up to {want} for "
                      f"a rank on each of {len(facts.affinity)} CPUs", "a job of so many ranks does not start, or connections fail later",
                      _raise_to(hard, want, "-n", 1, f"\"* - nofile {max(want, 4096)}\""))
    elif soft != UNLIMITED and soft < 1024:
        yield note("limits.files-few", f"a process may have {soft} files open (ulimit -n)",
                   "jobs on many hosts may want more", _raise_to(hard, 1024, "-n", 1, "\"* - nofile 4096\""))
    else:
        yield ok("limits.files-enough", f"a process may have {'any number of' if soft == UNLIMITED else soft} files open")


def look(facts: Facts) -> Iterator[Finding]:
    yield from _locked(facts)
    yield from _files(facts)
