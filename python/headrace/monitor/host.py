"""Figures of the machine: cores, network interfaces, links, GPUs, and their locations. Rates cover the time since the
last call; a GPU library that fails is not used again."""

from __future__ import annotations

import platform
import time
from pathlib import Path

from headrace.monitor.fabric import Fabric
from headrace.monitor.inside import Inside
from headrace.monitor.nvml import Nvml

_DEVICES_MOST = 32


class Host:
    def __init__(self, proc: Path = Path("/proc"), nvml: Nvml | None = None, fabric: Fabric | None = None,
                 inside: Inside | None = None):
        self.proc, self.name = proc, platform.node() or "localhost"
        self.nvml = Nvml() if nvml is None else nvml
        self.fabric = Fabric() if fabric is None else fabric
        self.inside = Inside(self.fabric.sys) if inside is None else inside
        self._before: tuple[float, dict[str, tuple[int, int]], tuple[int, int]] | None = None

    def look(self) -> dict[str, dict[str, float]]:
        """Returns {host: {"cpu.busy": share of all cores, "net.eth0.rx": bytes per second, "gpu.0.busy": share}}."""
        now, net, cpu = time.monotonic(), self._net(), self._cpu()
        figures: dict[str, float] = {}
        if self._before:
            then, net_then, cpu_then = self._before
            seconds = max(now - then, 1e-3)
            if (total := cpu[1] - cpu_then[1]) > 0:
                figures["cpu.busy"] = round(min(1.0, max(0.0, (cpu[0] - cpu_then[0]) / total)), 4)
            for device, (received, sent) in net.items():
                if device in net_then:
                    figures[f"net.{device}.rx"] = round(max(0, received - net_then[device][0]) / seconds)
                    figures[f"net.{device}.tx"] = round(max(0, sent - net_then[device][1]) / seconds)
        self._before = (now, net, cpu)
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

    def _cpu(self) -> tuple[int, int]:
        """Returns (busy, all) in ticks, of all cores."""
        try:
            words = (self.proc / "stat").read_text().partition("\n")[0].split()[1:9]
            ticks = [int(word) for word in words]
        except (OSError, ValueError):
            return (0, 0)
        return (sum(ticks) - sum(ticks[3:5]), sum(ticks))
