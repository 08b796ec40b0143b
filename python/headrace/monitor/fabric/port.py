"""A port as a reader finds it, and functions that read sysfs files within bounds; they name unusable files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

# Figures of a link. The first ones are rates of counters, per second; the others are values.
RATES = ("rx", "tx", "packets", "waits", "discards", "errors", "retries", "congestion")
FIGURES = (*RATES, "up", "speed", "use")

_BYTES_MOST = 4096
_NAMES_MOST = 64
_COUNTER_MOST = 1 << 64
_NAME = re.compile(r"[\w.:-]{1,40}")


@dataclass
class Port:
    kind: str  # "infiniband", "roce", "slingshot", "ethernet"
    name: str  # "mlx5_0:1"
    up: bool | None = None
    speed: float = 0.0  # bytes per second in each direction; 0: unknown
    counters: dict[str, int] = field(default_factory=dict)  # sums, indexed by figure of RATES
    strange: list[str] = field(default_factory=list)  # files whose content is not a counter


def text(path: Path) -> str:
    """Returns the start of a file; "" if it cannot be read. A network interface that is down refuses its speed, for
    example."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(file, _BYTES_MOST).decode("ascii", "replace").strip()
    except OSError:
        return ""
    finally:
        os.close(file)


def folders(path: Path) -> Iterator[Path]:
    """Yields the entries of a folder that have plain names, sorted, and no more of them than a host can have."""
    try:
        with os.scandir(path) as entries:
            names = [entry.name for entry in islice(entries, 16 * _NAMES_MOST)]
    except OSError:
        return
    for name in sorted(name for name in names if _NAME.fullmatch(name))[:_NAMES_MOST]:
        yield path / name


def add(port: Port, figure: str, path: Path, scale: int = 1) -> None:
    """Adds a file's counter to a figure. A missing file means that the device lacks the counter; invalid content is
    recorded."""
    said = text(path).partition("@")[0]  # Slingshot appends the time of the reading
    if not said:
        return
    if said.isascii() and said.isdecimal() and int(said) < _COUNTER_MOST:
        port.counters[figure] = port.counters.get(figure, 0) + int(said) * scale
    else:
        port.strange.append(path.name)


def add_all(port: Port, table: Mapping[str, tuple[str, ...]], folder: Path) -> None:
    """Adds the counters of a folder, by figure."""
    for figure, names in table.items():
        for name in names:
            add(port, figure, folder / name)
