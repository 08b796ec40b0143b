"""Figures of this host's links since the last reading, from all readers.

Counters that run backwards, or faster than the link, are reported and omitted from that reading: the driver was
reloaded, or the counter has wrapped or is wrong. Not thread-safe.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from . import ethernet, infiniband, slingshot
from .port import RATES, Port

READERS = (infiniband.ports, slingshot.ports, ethernet.ports)
_PORTS_MOST = 128
_REMARKS_MOST = 4
_FASTER = 1.5  # multiple of the link's speed, as counters are read at slightly different times
_LEAST_SECONDS = 0.2  # shortest interval for which a rate is computed


class Fabric:
    def __init__(self, sys: Path = Path("/sys"), now: Callable[[], float] = time.monotonic):
        self.sys, self._now = sys, now
        self.remarks: list[str] = []
        self._before: dict[str, tuple[float, dict[str, int]]] = {}

    def look(self) -> dict[str, float]:
        """Returns {"link.infiniband.mlx5_0:1.rx": bytes per second, ...}: the figures of port.FIGURES for each link."""
        figures: dict[str, float] = {}
        found = [port for reader in READERS for port in reader(self.sys)]
        said: list[str] = [f"{len(found) - _PORTS_MOST} links of this host are left out"] if len(found) > _PORTS_MOST else []
        before, self._before = self._before, {}
        for port in found[:_PORTS_MOST]:
            place = f"link.{port.kind}.{port.name}"
            if port.up is not None:
                figures[f"{place}.up"] = float(port.up)
            if port.speed:
                figures[f"{place}.speed"] = port.speed
            if port.strange:
                said.append(f"{port.name}: {', '.join(port.strange[:3])} {'is no counter' if len(port.strange) == 1 else 'are no counters'}, and left out")
            now = self._now()
            then, old = before.get(place, (now, {}))
            if before.get(place) and now - then < _LEAST_SECONDS:
                self._before[place] = (then, old)
                continue
            self._before[place] = (now, port.counters)
            if old:
                figures.update(self._rates(place, port, old, now - then, said))
        self.remarks = said[:_REMARKS_MOST]
        return figures

    @staticmethod
    def _rates(place: str, port: Port, old: dict[str, int], seconds: float, said: list[str]) -> dict[str, float]:
        figures: dict[str, float] = {}
        for name in RATES:
            if name not in port.counters or name not in old:
                continue
            change = port.counters[name] - old[name]
            rate = change / seconds
            if change < 0:
                said.append(f"{port.name}: its counter of {name} ran backwards (a driver that was loaded again, or one that wrapped)")
            elif name in ("rx", "tx") and port.speed and rate > _FASTER * port.speed:
                said.append(f"{port.name}: its counter of {name} runs at {rate:.3g} B/s, and the link carries {port.speed:.3g}")
            else:
                figures[f"{place}.{name}"] = round(rate, 3)
        traffic = [figures[name] for name in (f"{place}.rx", f"{place}.tx") if name in figures]
        if traffic and port.speed:
            figures[f"{place}.use"] = round(min(1.0, max(traffic) / port.speed), 5)  # the link buffers some packets
        return figures
