"""Where readings come from."""

from __future__ import annotations

from typing import Protocol

from headrace.monitor.model import Sweep


class Source(Protocol):
    def sweep(self, details: bool) -> Sweep:
        """Reads all ranks of all jobs. `details`: also their counters by name and peer, which takes some ten times as long."""

    def close(self) -> None:
        """Gives back what was opened."""
