"""The limits of a run: bare copies and kernels (gpu_limits), and NCCL, looked up by name and size."""

from __future__ import annotations

import math
import statistics


class Limits:
    """Medians over the runs of one program. `more`: name of an additional figure in the rows."""

    def __init__(self):
        self._values: dict[tuple[str, int], list[float]] = {}
        self._notes: dict[tuple[str, int], str] = {}

    def add(self, report: dict) -> None:
        for row in report["rows"]:
            key = (row["label"], row["bytes"])
            self._values.setdefault(key, []).append(row["median"])
            self._notes[key] = row.get("note", "")

    def __bool__(self) -> bool:
        return bool(self._values)

    def runs(self, label: str, bytes_: int) -> list[float]:
        """Returns one figure per report."""
        return self._values.get((label, bytes_), [])

    def labels(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self._values))

    def sizes(self, label: str) -> list[int]:
        return sorted(size for name, size in self._values if name == label)

    def note(self, label: str) -> str:
        return next((text for (name, _), text in self._notes.items() if name == label), "")

    def microseconds(self, label: str, bytes_: int | None = None) -> float | None:
        """Returns the time at a size; between two measured sizes, interpolates linearly (both scales logarithmic)."""
        sizes = self.sizes(label)
        if not sizes:
            return None
        if bytes_ is None or bytes_ <= sizes[0]:
            return self._median(label, sizes[0])
        below = max(size for size in sizes if size <= bytes_)
        if below == bytes_:
            return self._median(label, below)
        above = next((size for size in sizes if size > bytes_), None)
        if above is None:  # beyond the last size, the bandwidth determines the time
            return self._median(label, below) * bytes_ / below
        if below == 0:
            return self._median(label, above)
        part = math.log(bytes_ / below) / math.log(above / below)
        return math.exp((1 - part) * math.log(self._median(label, below)) + part * math.log(self._median(label, above)))

    def _median(self, label: str, bytes_: int) -> float:
        return statistics.median(self._values[label, bytes_])
