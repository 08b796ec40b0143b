"""Checks the limits of a process: locked memory, open files, address space, stack, file size."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.doctor.facts import UNLIMITED, Facts, size
from headrace.doctor.finding import Finding, error, note, ok, warning

_FILES_OF_A_RANK = 8  # pipes and sockets of mpiexec per rank, with some reserve
_FILES_BESIDE = 64
_LEAST_SPACE = 512 << 20  # bytes of address space; UCX and a Python program need most of it
_USUAL_SPACE = 8 << 30
_USUAL_STACK = 1 << 20
_USUAL_FILE = 256 << 20


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
        yield warning("limits.files", f"a process may have {soft} files open (ulimit -n); mpiexec needs up to {want} for "
                      f"a rank on each of {len(facts.affinity)} CPUs", "a job of so many ranks does not start, or connections fail later",
                      _raise_to(hard, want, "-n", 1, f"\"* - nofile {max(want, 4096)}\""))
    elif soft != UNLIMITED and soft < 1024:
        yield note("limits.files-few", f"a process may have {soft} files open (ulimit -n)",
                   "jobs on many hosts may want more", _raise_to(hard, 1024, "-n", 1, "\"* - nofile 4096\""))
    else:
        yield ok("limits.files-enough", f"a process may have {'any number of' if soft == UNLIMITED else soft} files open")


def _address_space(facts: Facts) -> Iterator[Finding]:
    soft, hard = facts.address_space
    if soft == UNLIMITED:
        yield ok("limits.space-free", "address space is not limited")
        return
    evidence = f"a process may have {size(soft)} of address space (ulimit -v)"
    remedy = _raise_to(hard, 1 << 62, "-v", 1024, "\"* - as unlimited\"")
    if soft < _LEAST_SPACE:
        yield error("limits.space-none", evidence, "programs end in MPI_Init, or do not start", remedy)
    elif soft < _USUAL_SPACE or facts.names("/proc/driver/nvidia/gpus"):
        yield warning("limits.space", f"{evidence}; what is reserved counts, not what is used",
                      "CUDA cannot be used; programs with many threads, or large windows, run out of memory early", remedy)
    else:
        yield note("limits.space-some", evidence, "CUDA cannot be used with such a limit", remedy)


def _stack(facts: Facts) -> Iterator[Finding]:
    soft, hard = facts.stack
    if soft != UNLIMITED and soft < _USUAL_STACK:
        yield warning("limits.stack", f"the stack may have {size(soft)} (ulimit -s), threads' stacks the same",
                      "programs end with a segmentation fault where a function has large local arrays; long command lines are refused",
                      _raise_to(hard, 8 << 20, "-s", 1024, "\"* - stack 8192\""))
    else:
        yield ok("limits.stack-enough", f"the stack may have {'any size' if soft == UNLIMITED else size(soft)}")


def _file_size(facts: Facts) -> Iterator[Finding]:
    soft, hard = facts.file_size
    if soft == UNLIMITED:
        yield ok("limits.file-size-free", "the size of files is not limited")
    else:
        rate = warning if soft < _USUAL_FILE else note
        yield rate("limits.file-size" if soft < _USUAL_FILE else "limits.file-size-some",
                   f"a file may have {size(soft)} (ulimit -f), and memory that ranks share is a file",
                   "jobs do not start, windows cannot be made, output and written files end there",
                   _raise_to(hard, 1 << 62, "-f", 1024, "\"* - fsize unlimited\""))


def look(facts: Facts) -> Iterator[Finding]:
    yield from _locked(facts)
    yield from _files(facts)
    yield from _address_space(facts)
    yield from _stack(facts)
    yield from _file_size(facts)
