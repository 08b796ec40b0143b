"""Sources of readings."""

from __future__ import annotations

from typing import Protocol

from headrace.monitor.model import Sweep


class Source(Protocol):
    def sweep(self, details: bool) -> Sweep:
        """Reads all ranks of all jobs. `details`: also their counters by name and peer, which takes about ten times as long."""

    def close(self) -> None:
        """Releases everything that was opened."""
