"""Finds device memory sent through the host although the ranks share a host, and IPC mappings that are created
repeatedly."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.doctor.facts import size
from headrace.doctor.finding import Finding, note, ok, warning
from headrace.doctor.job.facts import Job, JobFacts

_SOME = 1 << 20
_MISSES = 1000


def _bytes(job: Job, *protocols: str) -> int:
    return sum(rank.table("received.bytes").get(protocol, 0) for rank in job.ranks for protocol in protocols)


def look(facts: JobFacts) -> Iterator[Finding]:
    for job in facts.jobs:
        device = sum(rank.table("received.memory_bytes").get("device", 0) for rank in job.ranks)
        if not device:
            continue
        staged, network = _bytes(job, "staged"), _bytes(job, "network_staged")
        if staged >= _SOME:
            yield warning("devices.staged", f"job {job.name}: {size(staged)} of device memory went through the host between ranks "
                                            "of one host",
                          "twice the bytes over PCIe, instead of one copy from GPU to GPU",
                          "headrace doctor --only gpu says why IPC or peer access is not there (containers, MIG, IOMMU)")
        if network >= _SOME:
            yield note("devices.network", f"job {job.name}: {size(network)} of device memory went to other hosts through pinned memory",
                       "the host's memory carries it twice", "with InfiniBand or RoCE: a UCX with CUDA support (HEADRACE_UCX_DIR), which reads GPUs by itself")
        misses = max(rank.count("library.device_ipc_misses") for rank in job.ranks)
        hits = sum(rank.count("library.device_ipc_hits") for rank in job.ranks)
        if misses >= _MISSES and misses * len(job.ranks) > hits:
            yield warning("devices.ipc", f"job {job.name}: a rank mapped memory of others {misses:,} times",
                          "each mapping takes some hundred microseconds", "allocate buffers once and use them again, or from a pool "
                          "(cudaMallocAsync)")
        if staged < _SOME and network < _SOME and misses < _MISSES:
            yield ok("devices.direct", f"job {job.name}: {size(device)} of device memory came straight from GPUs")
