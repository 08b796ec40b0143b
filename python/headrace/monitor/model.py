"""A source's readings of a rank, in the form that the collector, the history and the views use.

All figures are sums since the rank's start, except gauges, which are current values. Times are nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

OUTSIDE = "outside MPI"  # the name of the state of a rank that is in no MPI function: it may compute, sleep, or read files
TEXT_MOST = 120  # maximum characters of any name from a page
COMMAND_MOST = 400  # maximum characters of a command line
REPORT_MOST = 500  # maximum characters of a report of the checker


class Brief(NamedTuple):
    """Figures read every second: sums, then gauges."""

    calls: int = 0  # calls of MPI functions
    mpi_ns: int = 0  # time inside MPI calls
    wait_ns: int = 0  # part of that time spent waiting for other ranks
    sent: int = 0  # messages
    sent_bytes: int = 0
    received: int = 0
    received_bytes: int = 0
    posted: int = 0  # gauge: receives not yet matched
    unexpected: int = 0  # gauge: messages not yet matched
    unexpected_bytes: int = 0  # gauge


SUMS = 7  # the first fields of Brief are sums, the others gauges


class Count(NamedTuple):
    """A counter: number of events, bytes, time."""

    count: int = 0
    bytes: int = 0
    ns: int = 0


# Kinds of detailed counters. The key is a name, or a rank if the kind is one of PEERS. The numbers are used in saved files.
KINDS = {
    "call": 1,  # MPI functions; bytes are those of messages sent in them
    "sent_to": 2,  # messages of the program, by peer
    "internal_to": 3,  # messages of the library itself, by peer
    "waited_for": 4,  # waits, by peer
    "protocol": 5,  # protocols of received messages
    "memory": 6,  # "sent device": kind of memory of the buffer
    "size": 7,  # messages sent by size class in bytes: "4-7"; they count no bytes
    "collective": 8,  # collectives by algorithm; they count no time
    "access": 9,  # accesses to windows and files: "put", "read"
    "library": 10,  # statistics of the library itself, which MPI_T also provides
    "phase": 11,  # marks of MPI_Pcontrol
    "queue": 12,  # gauge: count is the depth now, bytes the highest depth
    "duration": 13,  # calls by function and by duration in nanoseconds: "MPI_Recv 1024-2047"
    "cpu": 14,  # time of cores that the process used: "process"
    "resident": 15,  # gauge: count is the process's memory in bytes now, bytes the highest: "process"
    "buffer": 16,  # gauge: count is the memory of communication buffers in bytes now, bytes the highest: "shm", "tcp"
    "file": 17,  # what the process reads and writes: "read" (in system calls, on any file), "read from storage"
    "operation": 18,  # collectives by operation and size in bytes: "allreduce 8-15"; they count neither bytes nor time
}
PEERS = frozenset({"sent_to", "internal_to", "waited_for"})
GAUGES = frozenset({"queue", "resident", "buffer"})

Details = dict[str, dict[str, Count]]  # kind -> key -> counter; the key of a peer is its rank in decimal


class Mark(NamedTuple):
    """A call of MPI_Pcontrol."""

    number: int  # number of the mark in its rank, from 0
    time: float  # seconds since the epoch
    level: int


class Report(NamedTuple):
    """A report of the checker. Equal ones of a rank are one."""

    number: int  # number of the report in its rank, from 0
    time: float  # of the first one, in seconds since the epoch
    times: int
    text: str


class Origin(NamedTuple):
    """The origin of a job. The source has cleaned all strings, which are empty if unknown."""

    user: str = ""
    command: str = ""  # command line of a rank
    batch: str = ""  # batch system: "Slurm", "PBS", "LSF"
    batch_job: str = ""  # number of the rank in the job
    batch_name: str = ""


@dataclass(frozen=True)
class Rank:
    """One process of a job. `job` is unique across hosts and times. The source has cleaned all strings."""

    job: str
    rank: int
    size: int
    pid: int
    host: str
    program: str
    began: float  # seconds since the epoch
    cpus: str = ""  # CPUs that it is bound to: "0-3"
    gpu: str = ""
    origin: Origin = Origin()


@dataclass
class Reading:
    """The readings of one rank at one time. `ended`: its process has finished, or does not exist any more. `died`: it does not exist any more,
    and has not called MPI_Finalize."""

    rank: Rank
    brief: Brief
    ended: bool = False
    details: Details | None = None  # None: not requested
    function: str = ""  # current MPI function; "": none
    waits_for: int | None = None  # rank for which this one has been waiting, if for longer than a moment
    marks: tuple[Mark, ...] = ()  # the last ones, with details
    died: bool = False
    reports: tuple[Report, ...] = ()  # the checker's, the first ones that differ, with details


class Reporter(NamedTuple):
    """A collector on another host that sends reports, or did so."""

    host: str
    address: str
    live: bool
    since: float  # time of connection or loss, in seconds since the epoch
    ranks: int  # number of ranks running at its last report
    why: str = ""  # a sentence with the reason why it is lost


@dataclass
class Sweep:
    """All ranks at one time."""

    time: float
    readings: list[Reading] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # sentences: pages of another version, unreadable ones
    machine: dict[str, dict[str, float]] = field(default_factory=dict)  # figures of other hosts
    unseen: frozenset[str] = frozenset()  # jobs that may still run on hosts that cannot be read now
    reporters: list[Reporter] = field(default_factory=list)


def clean(text: str, most: int = TEXT_MOST) -> str:
    """Cleans a name from a page: the result is printable and of limited length."""
    if len(text) <= most and text.isprintable():
        return text
    kept = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[:most + 1])
    return kept if len(kept) <= most else kept[:most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def size_class(power: int) -> str:
    """Returns the label of messages of 2^(power-1) to 2^power - 1 bytes; class 0 is for empty messages."""
    if power < 2:
        return str(power)
    return f"{1 << (power - 1)}-{(1 << power) - 1}"
