"""A synthetic job with the traffic of a 3D halo exchange, which yields the same readings for the same seed and time. For tests and
pictures.

Rank `slow` computes longer than the others, which wait for it; only its neighbours wait for it directly.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from headrace.monitor.model import Brief, Count, Details, Mark, Origin, Rank, Reading, Report, Sweep, size_class

_FACE = 32 * 32 * 8  # bytes of a face of the halo
_STEPS = 200  # per second
_PHASE_STEPS = 4000  # number of steps between two marks


def grid(ranks: int) -> tuple[int, int, int]:
    """Returns three factors that are as equal as possible."""
    best = (ranks, 1, 1)
    for x in range(1, ranks + 1):
        if ranks % x:
            continue
        for y in range(1, ranks // x + 1):
            if (ranks // x) % y == 0:
                found = (x, y, ranks // x // y)
                if max(found) < max(best) or (max(found) == max(best) and found > best):
                    best = found
    return best


def neighbours(rank: int, shape: tuple[int, int, int]) -> list[int]:
    """Returns the neighbours on a torus; one may occur twice if an axis has length 2, the rank itself never occurs."""
    x, y, z = shape
    at = (rank // (y * z), rank // z % y, rank % z)
    found = []
    for axis in range(3):
        if shape[axis] == 1:
            continue
        for step in (-1, 1):
            there = list(at)
            there[axis] = (at[axis] + step) % shape[axis]
            found.append((there[0] * y + there[1]) * z + there[2])
    return found


@dataclass(frozen=True)
class Job:
    key: str = "synthetic-1"
    ranks: int = 256
    began: float = 1_760_000_000.0
    seconds: float = float("inf")  # run time of the job
    program: str = "halo3d"
    slow: int = 37
    device: bool = True
    seed: int = 1
    origin: Origin = Origin("ada", "./halo3d --local 32 --steps 100000", "Slurm", "48213", "halo-weak-256")
    died: tuple[int, ...] = ()  # ranks that end without MPI_Finalize
    reports: tuple[str, ...] = ()  # reports of the checker; number n is one of every rank that n + 1 divides
    per_node: int = 0  # number of ranks on each host (node0001 and so on); 0: all ranks are on one host, "synthetic"


class Synthetic:
    """A source whose clock is set by the owner. Not thread-safe."""

    def __init__(self, *jobs: Job):
        self.jobs = jobs or (Job(),)
        self.time = max(job.began for job in self.jobs)
        self._peers = {job.key: [neighbours(rank, grid(job.ranks)) for rank in range(job.ranks)] for job in self.jobs}
        self._pace = {job.key: [random.Random(job.seed * 100003 + rank).uniform(0.0, 0.08) for rank in range(job.ranks)] for job in self.jobs}

    def close(self) -> None:
        pass

    def sweep(self, details: bool) -> Sweep:
        found = Sweep(self.time)
        for job in self.jobs:
            if self.time < job.began:
                continue
            for rank in range(job.ranks):
                found.readings.append(self._reading(job, rank, details))
        return found

    def _reading(self, job: Job, rank: int, details: bool) -> Reading:
        elapsed = min(self.time - job.began, job.seconds)
        steps = int(elapsed * _STEPS)
        peers = self._peers[job.key][rank]
        wait = self._wait(job, rank, elapsed)
        sends = steps * len(peers)
        calls = 2 + steps * (2 * len(peers) + 2)
        noise = random.Random(f"{job.seed} {rank} {int(elapsed)}").random()
        unexpected = int(noise * (8 if rank in self._peers[job.key][job.slow % job.ranks] else 3)) if elapsed < job.seconds else 0
        brief = Brief(calls, wait + steps * 90_000, wait, sends, sends * _FACE, sends, sends * _FACE,
                      len(peers) if elapsed < job.seconds else 0, unexpected, unexpected * _FACE)
        who = Rank(job.key, rank, job.ranks, 4000 + rank, f"node{rank // job.per_node + 1:04}" if job.per_node else "synthetic", job.program, job.began, str(rank), str(rank % 8) if job.device else "",
                   job.origin)
        waits = rank != job.slow % job.ranks and elapsed < job.seconds
        return Reading(who, brief, elapsed >= job.seconds, self._details(job, rank, peers, steps, wait) if details else None,
                       "MPI_Waitall" if waits else "", job.slow % job.ranks if waits else None, self._marks(job, rank, steps) if details else (),
                       rank in job.died and elapsed >= job.seconds, self._reports(job, rank) if details else ())

    def _marks(self, job: Job, rank: int, steps: int) -> tuple[Mark, ...]:
        """Returns the marks of two alternating phases of unequal length, which ranks enter at slightly different times."""
        count = steps // _PHASE_STEPS
        return tuple(Mark(number, job.began + (number + 1 - (number % 2) * 0.4) * _PHASE_STEPS / _STEPS + rank * 1e-4, 2 + number % 2)
                     for number in range(max(0, count - 64), count))

    @staticmethod
    def _reports(job: Job, rank: int) -> tuple[Report, ...]:
        texts = [text for number, text in enumerate(job.reports) if rank % (number + 1) == 0]
        return tuple(Report(number, job.began + 5 + number, 1, text) for number, text in enumerate(texts))

    def _wait(self, job: Job, rank: int, elapsed: float) -> int:
        if rank == job.slow % job.ranks:
            return int(elapsed * 2e7)
        return int(elapsed * 1e9 * (0.22 + self._pace[job.key][rank]))

    @staticmethod
    def _durations(sends: int, steps: int, slow: bool) -> dict[str, Count]:
        """Returns calls by duration: one in fifty of the MPI_Waitall takes much longer than the others, except in the slow rank."""
        late = 0 if slow else steps // 50
        counts = {"MPI_Isend 2048-4095": sends - sends // 9, "MPI_Isend 8192-16383": sends // 9, "MPI_Irecv 1024-2047": sends, "MPI_Allreduce 16384-32767": steps - steps // 4, "MPI_Allreduce 32768-65535": steps // 4,
                  "MPI_Waitall 524288-1048575": steps - late, "MPI_Waitall 16777216-33554431": late}
        return {key: Count(count) for key, count in counts.items() if count}

    @staticmethod
    def _files(rank: int, steps: int) -> dict[str, Count]:
        """Returns what rank 0 reads, once, and what each rank writes: its part of a file every 200 steps."""
        found = {"written": Count(steps // _STEPS, steps // _STEPS << 20), "written to storage": Count(bytes=steps // _STEPS << 20)}
        if rank == 0:
            found.update({"read": Count(2, 3 << 20), "read from storage": Count(bytes=1 << 20)})
        return {name: count for name, count in found.items() if any(count)}

    def _details(self, job: Job, rank: int, peers: list[int], steps: int, wait: int) -> Details:
        sends = steps * len(peers)
        by_peer: dict[str, Count] = {}
        waited: dict[str, Count] = {}
        for peer in peers:
            before = by_peer.get(str(peer), Count())
            by_peer[str(peer)] = Count(before.count + steps, before.bytes + steps * _FACE, 0)
        slow = job.slow % job.ranks
        culprit = slow if slow in peers or not peers else peers[0]
        if rank != slow:
            waited[str(culprit)] = Count(steps, 0, wait)
        direct = sends // 5 * 4
        faces, place = Count(sends, sends * _FACE), "device" if job.device else "host"
        return {
            "call": {"MPI_Isend": Count(sends, sends * _FACE, steps * 20_000), "MPI_Irecv": Count(sends, 0, steps * 10_000),
                     "MPI_Waitall": Count(steps, 0, wait + steps * 40_000), "MPI_Allreduce": Count(steps, steps * 8, steps * 20_000),
                     "MPI_Init": Count(1), "MPI_Comm_rank": Count(1)},
            "sent_to": by_peer,
            "internal_to": {str(peers[0] if peers else rank): Count(steps, steps * 8)},
            "waited_for": waited,
            "protocol": {"device_get" if job.device else "single_copy": Count(direct, direct * _FACE),
                         "staged" if job.device else "stream": Count(sends - direct, (sends - direct) * _FACE)},
            "memory": {f"sent {place}": faces, f"received {place}": faces},
            "size": {size_class(_FACE.bit_length()): Count(sends), size_class(4): Count(steps)},
            "collective": {"allreduce/shared": Count(steps, steps * 8, steps * 20_000)},
            "library": {"device_ipc_hits": Count(direct), "device_ipc_misses": Count(len(peers))},
            "queue": {"posted": Count(len(peers), 2 * len(peers)), "unexpected": Count(min(3, sends), 9)},
            "buffer": {"shm": Count(6 * 37_888, 6 * 70_656), **({"device": Count(2 << 20, 4 << 20), "pinned": Count(1 << 20, 1 << 20)} if job.device else {}), "unexpected": Count(0, 3 * _FACE)},
            "file": self._files(rank, steps),
            "operation": {f"allreduce {size_class(4)}": Count(steps)},
            "phase": {"marks": Count(steps // _PHASE_STEPS)},
            "cpu": {"process": Count(ns=steps * 5_000_000)},
            "resident": {"process": Count((900 + rank % 7) << 20, (1000 + rank % 7) << 20)},
            "duration": self._durations(sends, steps, rank == slow),
        }
