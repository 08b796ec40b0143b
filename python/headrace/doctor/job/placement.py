"""Cores and GPUs that several ranks share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from headrace.doctor.facts import cpu_list
from headrace.doctor.finding import Finding, note, ok, warning
from headrace.doctor.job.facts import Job, JobFacts, Rank, ranks_of


_HIDDEN = ("none", "-1", "NoDevFiles")  # "none": the variable is empty


def cores(rank: Rank) -> frozenset[int]:
    try:
        return cpu_list(rank.about.get("cores") or "")
    except ValueError:
        return frozenset()  # not known


def gpu(rank: Rank) -> str:
    """Returns the one GPU that a rank may use, by its CUDA_VISIBLE_DEVICES; nothing if it may use several, or all."""
    said = str(rank.about.get("gpus") or "").strip()
    return "" if "," in said or said in _HIDDEN else said


def _cores(number: int) -> str:
    return "one core" if number == 1 else f"{number} cores"


def _by_host(job: Job) -> dict[str, list[Rank]]:
    hosts: dict[str, list[Rank]] = defaultdict(list)
    for rank in job.ranks:
        hosts[rank.about.get("host", "?")].append(rank)
    return hosts


def _of_cores(job: Job, host: str, ranks: list[Rank]) -> Iterator[Finding]:
    together: dict[frozenset[int], list[int]] = defaultdict(list)
    for rank in ranks:
        if cores(rank):
            together[cores(rank)].append(rank.rank)
    crowded = [(shared, members) for shared, members in together.items() if len(members) > len(shared)]
    for shared, members in crowded:
        yield warning("placement.cores", f"job {job.name}: {ranks_of(members)} on {host} share {_cores(len(shared))}",
                      "they take turns; each wait of one for another may cost a time slice",
                      "start at most one rank a core, or bind them apart: mpiexec --bind-to core --report-bindings")
    if together and not crowded:
        yield ok("placement.cores", f"job {job.name}: no ranks on {host} outnumber their cores")


def _of_gpus(job: Job, host: str, ranks: list[Rank]) -> Iterator[Finding]:
    together: dict[str, list[int]] = defaultdict(list)
    for rank in ranks:
        if device := gpu(rank):
            together[device].append(rank.rank)
    if hidden := [rank.rank for rank in ranks if str(rank.about.get("gpus") or "").strip() in _HIDDEN]:
        yield note("placement.gpu-hidden", f"job {job.name}: no GPU is visible to {ranks_of(hidden)} on {host}: CUDA_VISIBLE_DEVICES "
                   "is empty or names none", "they compute without a GPU",
                   "unset it; if a script sets it, print the variable that the script takes the number from")
    shared = {device: members for device, members in together.items() if len(members) > 1}
    if shared:
        device, members = next(iter(shared.items()))
        yield note("placement.gpu", f"job {job.name}: {ranks_of(members)} on {host} share GPU {device}",
                   "without MPS their kernels take turns, and short device messages wait for a turn",
                   "one rank a GPU; or start MPS (nvidia-cuda-mps-control -d)")


def look(facts: JobFacts) -> Iterator[Finding]:
    for job in facts.jobs:
        for host, ranks in _by_host(job).items():
            yield from _of_cores(job, host, ranks)
            yield from _of_gpus(job, host, ranks)
