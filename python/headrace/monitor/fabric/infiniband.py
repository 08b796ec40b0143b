"""InfiniBand and RoCE adapter ports, whose traffic bypasses the kernel: /sys/class/infiniband."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from .port import Port, add, add_all, folders, text

_WORD = 4  # bytes: the unit of the data counters
_COUNTERS = {
    "packets": ("port_rcv_packets", "port_xmit_packets"),
    "waits": ("port_xmit_wait",),
    "discards": ("port_xmit_discards", "VL15_dropped"),
    "errors": ("symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_rcv_remote_physical_errors",
               "port_rcv_switch_relay_errors", "local_link_integrity_errors", "excessive_buffer_overrun_errors"),
}
_HARDWARE = {
    "retries": ("packet_seq_err", "local_ack_timeout_err", "out_of_sequence", "rnr_nak_retry_err"),
    "congestion": ("rp_cnp_handled", "np_ecn_marked_roce_packets"),
    "errors": ("rx_icrc_encapsulated", "req_cqe_error", "resp_cqe_error"),
    "discards": ("out_of_buffer",),
}


def ports(sys: Path) -> Iterator[Port]:
    for device in folders(sys / "class/infiniband"):
        for place in folders(device / "ports"):
            roce = text(place / "link_layer").lower() == "ethernet"
            port = Port("roce" if roce else "infiniband", f"{device.name}:{place.name}")
            if state := text(place / "state"):  # "4: ACTIVE"
                port.up = state.partition(":")[0].strip() == "4"
            if rate := re.match(r"([\d.]{1,8}) Gb/sec", text(place / "rate")):
                try:
                    port.speed = float(rate[1]) * 1e9 / 8
                except ValueError:
                    port.strange.append("rate")
            add(port, "rx", place / "counters/port_rcv_data", _WORD)
            add(port, "tx", place / "counters/port_xmit_data", _WORD)
            add_all(port, _COUNTERS, place / "counters")
            add_all(port, _HARDWARE, place / "hw_counters")
            yield port
