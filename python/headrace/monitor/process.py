"""What a rank's process uses: time of cores, and memory. From /proc of this host."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Use(NamedTuple):
    cpu_ns: int  # of all its threads, since its start
    resident: int  # bytes now
    most: int  # bytes, the highest so far


def use(pid: str | None, proc: Path = Path("/proc")) -> Use | None:
    """`pid`: its number on this host. None if it has ended or cannot be read."""
    if pid is None:
        return None
    try:
        words = (proc / pid / "stat").read_text(errors="replace").rpartition(")")[2].split()
        lines = (proc / pid / "status").read_text(errors="replace").splitlines()
        said = {name: int(rest.split()[0]) << 10 for name, _, rest in (line.partition(":") for line in lines) if name in ("VmRSS", "VmHWM")}
        return Use((int(words[11]) + int(words[12])) * _TICK_NS, said["VmRSS"], said.get("VmHWM", said["VmRSS"]))
    except (OSError, ValueError, IndexError, KeyError):
        return None
