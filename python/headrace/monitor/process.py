"""What a rank's process uses: time of cores, memory, files. From /proc of this host."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Use(NamedTuple):
    cpu_ns: int  # of all its threads, since its start
    resident: int  # bytes now
    most: int  # bytes, the highest so far


class Files(NamedTuple):
    """Bytes since the process's start, of all its threads. Calls are those of read() and the like on files, pipes and other descriptors, whether
    the data is in memory or not; storage is what the kernel ascribes to the process of the traffic of its file systems."""

    reads: int  # calls
    read: int  # bytes in them
    writes: int
    written: int
    from_storage: int
    to_storage: int


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:  # faster than Path, and done for every rank
        return file.read()


def use(pid: str | None, proc: Path = Path("/proc")) -> Use | None:
    """`pid`: its number on this host. None if it has ended or cannot be read."""
    if pid is None:
        return None
    try:
        words = _text(f"{proc}/{pid}/stat").rpartition(")")[2].split()
        lines = _text(f"{proc}/{pid}/status").splitlines()
        said = {line[:5]: int(line[6:].split()[0]) << 10 for line in lines if line.startswith(("VmRSS:", "VmHWM:"))}
        return Use((int(words[11]) + int(words[12])) * _TICK_NS, said["VmRSS"], said.get("VmHWM", said["VmRSS"]))
    except (OSError, ValueError, IndexError, KeyError):
        return None


_FILES = ("syscr", "rchar", "syscw", "wchar", "read_bytes", "write_bytes")  # names of the fields of Files


def files(pid: str | None, proc: Path = Path("/proc")) -> Files | None:
    """`pid`: its number on this host. None if it has ended or cannot be read, which the kernel permits to its user if a debugger may examine it."""
    if pid is None:
        return None
    try:
        said = dict(line.split(": ", 1) for line in _text(f"{proc}/{pid}/io").splitlines())
        return Files(*(int(said[name]) for name in _FILES))
    except (OSError, ValueError, KeyError):
        return None
