"""What a source says of a rank, in the form that the collector, the history and the views share.

All figures are sums since the rank's start, except gauges, which say how things are now. Times are nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

TEXT_MOST = 120  # characters of any name that comes from a page


class Brief(NamedTuple):
    """Read every second: sums, then gauges."""

    calls: int = 0  # of MPI functions
    mpi_ns: int = 0  # inside MPI calls
    wait_ns: int = 0  # of that, waiting for another rank
    sent: int = 0  # messages
    sent_bytes: int = 0
    received: int = 0
    received_bytes: int = 0
    posted: int = 0  # gauge: receives that have met no message
    unexpected: int = 0  # gauge: messages that have met no receive
    unexpected_bytes: int = 0  # gauge


SUMS = 7  # the first fields of Brief are sums, the others gauges


class Count(NamedTuple):
    """One counter of many: how often, how many bytes, how long."""

    count: int = 0
    bytes: int = 0
    ns: int = 0


# What detailed counters are about. The key is a name, or a rank where the kind is one of PEERS. The numbers are in saved files.
KINDS = {
    "call": 1,  # MPI functions
    "sent_to": 2,  # by peer
    "received_from": 3,
    "waited_for": 4,
    "protocol": 5,
    "memory": 6,  # kind of memory of the buffer
    "size": 7,  # messages by size class: "64 B", "4 KiB"
    "collective": 8,  # "allreduce/ring"
    "window": 9,
    "file": 10,
    "ipc": 11,  # cache of mapped memory of others
    "phase": 12,  # MPI_Pcontrol
    "queue": 13,  # gauge: depth now, highest depth
}
PEERS = frozenset({"sent_to", "received_from", "waited_for"})
GAUGES = frozenset({"queue"})

Details = dict[str, dict[str, Count]]  # kind -> key -> counter; the key of a peer is its rank in decimal


@dataclass(frozen=True)
class Rank:
    """One process of a job. `job` is unique on all hosts and at all times."""

    job: str
    rank: int
    size: int
    pid: int
    host: str
    program: str
    began: float  # seconds since the epoch
    cpus: str = ""  # where it is bound: "0-3"
    gpu: str = ""


@dataclass
class Reading:
    """One rank at one time. `ended`: its process has finished, or is gone."""

    rank: Rank
    brief: Brief
    ended: bool = False
    details: Details | None = None  # None: not asked for


@dataclass
class Sweep:
    """All ranks at one time."""

    time: float
    readings: list[Reading] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # sentences: pages of another version, unreadable ones


def clean(text: str, most: int = TEXT_MOST) -> str:
    """A name from a page: printable, of bounded length."""
    kept = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[:most + 1])
    return kept if len(kept) <= most else kept[:most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def size_class(power: int) -> str:
    """Name of the class of messages of less than 2^power bytes and at least half of that; class 0 is empty messages."""
    if power == 0:
        return "0 B"
    least = 1 << (power - 1)
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if least >= 1 << shift:
            return f"{least >> shift} {unit}"
    return f"{least} B"
