"""Hardware network interfaces: /sys/class/net. Bridges, tunnels and loopback have no hardware."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .port import Port, add_all, folders, text

_MEGABIT = 1e6 / 8
_COUNTERS = {
    "rx": ("rx_bytes",), "tx": ("tx_bytes",), "packets": ("rx_packets", "tx_packets"),
    "discards": ("rx_dropped", "tx_dropped", "rx_missed_errors"), "errors": ("rx_errors", "tx_errors"),
}


def state(port: Port, interface: Path) -> None:
    """Sets whether an interface is up, and its speed, if the driver knows them."""
    said = text(interface / "operstate")
    port.up = {"up": True, "down": False, "lowerlayerdown": False}.get(said)
    speed = text(interface / "speed")
    if speed.isascii() and speed.isdecimal() and int(speed) < 10 ** 8:
        port.speed = int(speed) * _MEGABIT


def ports(sys: Path) -> Iterator[Port]:
    for interface in folders(sys / "class/net"):
        if not (interface / "device").exists() or (interface / "device/cxi").exists():  # an interface with "cxi" belongs to Slingshot
            continue
        port = Port("ethernet", interface.name)
        state(port, interface)
        add_all(port, _COUNTERS, interface / "statistics")
        yield port
