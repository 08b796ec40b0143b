"""Ranks that share one GPU: messages and collectives on device buffers, managed memory, and copies to and from the
host.

Without MPS, a GPU runs one process at a time, with MPS several at once; the names of the figures show which applies. The limit of a
message is the time that two processes need without MPI (gpu_limits).
"""

from __future__ import annotations

import os
from pathlib import Path

from headrace.bench.figure import Figure, size_text

LATENCY = (8, 4096, 65536, 262144, 1 << 20, 4 << 20)
COLLECTIVE = (8, 4096, 65536)
OPERATIONS = "allreduce,allgather,alltoall"
WINDOWS = (4096, 65536, 1 << 20)
LARGE = (64 << 20,)
# Microseconds: a message of up to this size, without MPS (ADR 20).
LATENCY_GOALS = {8: 20, 4096: 20, 65536: 20, 1 << 20: 60}
COLLECTIVE_GOALS = {2: 30, 4: 60}
HOST_GOAL = 0.73  # fraction of the bus bandwidth of a copy from pinned memory: 40 of 55 GB/s


def mps_runs() -> bool:
    """True if an MPS daemon runs: processes of this user use it automatically."""
    for entry in Path("/proc").glob("[0-9]*/comm"):
        try:
            if entry.read_text().startswith("nvidia-cuda-mps"):
                return True
        except OSError:
            pass
    return False


def commands(programs, scale) -> list[list[str]]:
    device = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]

    def command(ranks: int, name: str, sizes, mem: str, *arguments: str) -> list[str]:
        found = programs.ranks(ranks, name, *scale.samples, "--sizes", scale.sizes(sizes), "--mem", mem, *arguments)
        return [found[0], "-x", f"CUDA_VISIBLE_DEVICES={device}", *found[1:]]

    large = LARGE if scale.largest >= LARGE[0] else (scale.largest,)
    return [command(2, "latency", LATENCY, "cuda"),
            command(2, "collective", COLLECTIVE, "cuda", "--op", OPERATIONS),
            command(4, "collective", COLLECTIVE, "cuda", "--op", OPERATIONS),
            command(2, "latency", LATENCY, "managed"),
            command(2, "message_rate", WINDOWS, "cuda"),
            command(2, "message_rate", WINDOWS, "managed"),
            *(command(2, "bandwidth", large, mem, "--window", "4")
              for mem in ("host,cuda", "cuda,host", "pinned,cuda", "cuda,pinned"))]


def figures(measured) -> list[Figure]:
    made: list[Figure] = []
    mps = mps_runs()
    how = "under MPS" if mps else "without MPS"

    def add(what: str, unit: str, values: list[float], *more, **keywords) -> None:
        made.append(Figure("shared", f"one GPU {how}, {what}", unit, values, *more, **keywords))

    device_latency = measured.rows(0)
    for (_, size), values in device_latency.items():
        ways = {way: time for way in ("get", "put", "pinned")
                if (time := measured.bare.microseconds(f"two processes, {way}", size))}
        best = min(ways, key=ways.get, default=None)
        add(f"one-way latency, {size_text(size)}", "us", values, ways.get(best), f"two processes without MPI, {best}" if best else "",
            below=None if mps else LATENCY_GOALS.get(size))
    for command, ranks in ((1, 2), (2, 4)):
        for (op, size), values in measured.rows(command).items():
            add(f"{op} of {ranks} ranks, {size_text(size)}", "us", values,
                below=None if mps else COLLECTIVE_GOALS[ranks])
    for (_, size), values in measured.rows(3).items():
        add(f"one-way latency, managed, {size_text(size)}", "us", values, _median(device_latency.get(("", size))),
            "device memory", 2.0)
    device_rate = measured.rows(4)
    for (_, size), values in measured.rows(5).items():
        add(f"message rate, managed, {size_text(size)}", "M/s", values, _median(device_rate.get(("", size))),
            "device memory", 0.5, more_is_better=True)
    for command, name in enumerate(("host to device", "device to host", "pinned host to device",
                                    "device to pinned host"), 6):
        for (_, size), values in measured.rows(command).items():
            bus = "host to device" if name.endswith("to device") else "device to host"
            time = measured.bare.microseconds(bus, size)
            add(f"{name}, {size_text(size)}", "GB/s", [value * 1e-3 for value in values],
                size / time * 1e-3 if time else None, "pinned copy", HOST_GOAL, more_is_better=True)
    return made


def _median(values: list[float] | None) -> float | None:
    return sorted(values)[len(values) // 2] if values else None
