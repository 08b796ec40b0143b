"""The inside of this host: its NUMA nodes with their CPUs, and the node of each GPU and link.

They are ordinary figures, so reports and the history carry them: `inside.numa.0.cpus.16` is the last CPU of a range of
node 0 that begins with CPU 16, `inside.gpu.3` and `inside.link.infiniband.mlx5_0:1` are numbers of nodes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from headrace.doctor.facts import cpu_list, ranges

_NODES_MOST = 64
_RANGES_MOST = 16  # limit of the ranges of a node's CPUs
_DEVICES_MOST = 256
_SECONDS = 60.0  # time between two searches for a device that was not found
_FOLDERS = {"infiniband": "class/infiniband", "roce": "class/infiniband", "slingshot": "class/cxi", "ethernet": "class/net"}


def _read(path: Path) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read(4096).strip()
    except (OSError, ValueError):
        return ""


class Inside:
    """Not thread-safe."""

    def __init__(self, sys: Path = Path("/sys")):
        self.sys = sys
        self._numa: dict[str, float] | None = None
        self._known: dict[str, tuple[float, int | None]] = {}  # time of reading and node, by file

    def look(self, links: Iterable[str], gpus: Mapping[int, str]) -> dict[str, float]:
        """`links`: such as "infiniband.mlx5_0:1"; `gpus`: PCI addresses by number. Returns nothing for a host without
        NUMA nodes."""
        if self._numa is None:
            self._numa = self._nodes()
        if not self._numa:
            return {}
        figures = dict(self._numa)
        places = [(f"inside.gpu.{number}", self.sys / "bus/pci/devices" / address) for number, address in gpus.items()]
        for link in links:
            kind, _, name = link.partition(".")
            if kind in _FOLDERS:
                places.append((f"inside.link.{link}", self.sys / _FOLDERS[kind] / name.partition(":")[0] / "device"))
        for name, place in places[:_DEVICES_MOST]:
            if (node := self._node(place / "numa_node")) is not None:
                figures[name] = float(node)
        return figures

    def _nodes(self) -> dict[str, float]:
        figures: dict[str, float] = {}
        for number in range(_NODES_MOST):
            try:
                cpus = cpu_list(_read(self.sys / f"devices/system/node/node{number}/cpulist"))
            except ValueError:
                continue
            for part in ranges(cpus)[:_RANGES_MOST]:
                first, _, last = part.partition("-")
                figures[f"inside.numa.{number}.cpus.{first}"] = float(last or first)
        return figures

    def _node(self, file: Path) -> int | None:
        """Returns None if the kernel does not know the node and writes -1."""
        now = time.monotonic()
        read, node = self._known.get(str(file), (-_SECONDS, None))
        if node is None and now - read >= _SECONDS:
            said = _read(file)
            node = int(said) if said.isdecimal() and len(said) < 4 else None
            if len(self._known) >= 4 * _DEVICES_MOST:
                self._known.clear()
            self._known[str(file)] = (now, node)
        return node
