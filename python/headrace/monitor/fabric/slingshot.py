"""Slingshot adapters: /sys/class/cxi. Each has a network interface as well, which knows the link's state and speed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .ethernet import state
from .port import Port, add_all, folders

_COUNTERS = {
    "rx": ("hni_sts_rx_ok_octets",), "tx": ("hni_sts_tx_ok_octets",),
    "waits": tuple(f"hni_tx_paused_{traffic}" for traffic in range(8)),
    "discards": tuple(f"hni_discard_cntr_{traffic}" for traffic in range(8)),
    "errors": ("hni_pcs_uncorrected_cw", "hni_llr_tx_replay_event", "hni_sts_rx_bad_octets"),
    "retries": ("pct_retry_srb_requests", "pct_spt_timeouts"),
}


def ports(sys: Path) -> Iterator[Port]:
    for device in folders(sys / "class/cxi"):
        port = Port("slingshot", device.name)
        for interface in folders(device / "device/net"):
            state(port, interface)
        add_all(port, _COUNTERS, device / "device/telemetry")
        yield port
