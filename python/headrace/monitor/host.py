"""Figures of the machine: cores, memory, Lustre, network interfaces, links, GPUs, and where they are. Rates cover the time since the last call; a GPU library that fails is not
used again."""

from __future__ import annotations

import glob
import platform
import time
from pathlib import Path

from headrace.monitor.fabric import Fabric
from headrace.monitor.inside import Inside
from headrace.monitor.model import clean
from headrace.monitor.nvml import Nvml

_DEVICES_MOST = 32


class Host:
    def __init__(self, proc: Path = Path("/proc"), nvml: Nvml | None = None, fabric: Fabric | None = None,
                 inside: Inside | None = None, debug: Path = Path("/sys/kernel/debug")):
        self.debug = debug
        self.proc, self.name = proc, platform.node() or "localhost"
        self.nvml = Nvml() if nvml is None else nvml
        self.fabric = Fabric() if fabric is None else fabric
        self.inside = Inside(self.fabric.sys) if inside is None else inside
        self._before: tuple[float, dict[str, tuple[int, int]], tuple[int, int], dict[str, dict[str, int]]] | None = None

    def look(self) -> dict[str, dict[str, float]]:
        """Returns {host: {"cpu.busy": share of all cores, "net.eth0.rx": bytes per second, "gpu.0.busy": share}}."""
        now, net, cpu, lustre = time.monotonic(), self._net(), self._cpu(), self._lustre()
        figures: dict[str, float] = {}
        if self._before:
            then, net_then, cpu_then, lustre_then = self._before
            seconds = max(now - then, 1e-3)
            if (total := cpu[1] - cpu_then[1]) > 0:
                figures["cpu.busy"] = round(min(1.0, max(0.0, (cpu[0] - cpu_then[0]) / total)), 4)
            for device, (received, sent) in net.items():
                if device in net_then:
                    figures[f"net.{device}.rx"] = round(max(0, received - net_then[device][0]) / seconds)
                    figures[f"net.{device}.tx"] = round(max(0, sent - net_then[device][1]) / seconds)
            for name, counts in lustre.items():
                for way, count in counts.items():
                    if way in lustre_then.get(name, {}):
                        figures[f"lustre.{name}.{way}"] = round(max(0, count - lustre_then[name][way]) / seconds)
        self._before = (now, net, cpu, lustre)
        if (used := self._memory()) is not None:
            figures["memory.used"] = used
        figures.update(self.nvml.look())
        links = self.fabric.look()
        figures.update(links)
        names = {what[5:].rpartition(".")[0] for what in links}
        figures.update(self.inside.look(sorted(names), self.nvml.addresses()))
        return {self.name: figures} if figures else {}

    @property
    def remarks(self) -> list[str]:
        return [*self.fabric.remarks, *self.nvml.remarks]

    def _net(self) -> dict[str, tuple[int, int]]:
        try:
            lines = (self.proc / "net/dev").read_text().splitlines()[2:]
        except OSError:
            return {}
        found = {}
        for line in lines[:_DEVICES_MOST]:
            device, _, rest = line.partition(":")
            words = rest.split()
            if len(words) >= 9:
                found[device.strip()] = (int(words[0]), int(words[8]))
        return found

    def _memory(self) -> float | None:
        """Returns the share of the memory that is not available."""
        try:
            lines = (self.proc / "meminfo").read_text().splitlines()
            said = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines) if name in ("MemTotal", "MemAvailable")}
            return round(min(1.0, max(0.0, 1 - said["MemAvailable"] / said["MemTotal"])), 4)
        except (OSError, ValueError, IndexError, KeyError, ZeroDivisionError):
            return None

    def _lustre(self) -> dict[str, dict[str, int]]:
        """Returns the bytes read and written so far of each file system that this host mounts, which newer versions show to root only."""
        found: dict[str, dict[str, int]] = {}
        for place in (self.proc / "fs/lustre/llite", self.debug / "lustre/llite"):
            for file in map(Path, sorted(glob.glob(f"{place}/*/stats"))[:_DEVICES_MOST]):  # which ignores directories that are not readable
                try:
                    rows = [line.split() for line in file.read_text().splitlines()]
                    counts = {row[0][:-6]: int(row[6]) for row in rows if row and row[0] in ("read_bytes", "write_bytes") and len(row) > 6}
                except (OSError, ValueError):
                    continue
                name = clean(file.parent.name.rpartition("-")[0] or file.parent.name, 40).replace(".", "_")
                found[name] = {way: count + found.get(name, {}).get(way, 0) for way, count in counts.items()}
        return found

    def _cpu(self) -> tuple[int, int]:
        """Returns (busy, all) in ticks, of all cores."""
        try:
            words = (self.proc / "stat").read_text().partition("\n")[0].split()[1:9]
            ticks = [int(word) for word in words]
        except (OSError, ValueError):
            return (0, 0)
        return (sum(ticks) - sum(ticks[3:5]), sum(ticks))
