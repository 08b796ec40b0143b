"""A page: its header, its description of itself, and its values at one moment."""

from __future__ import annotations

import os
import struct
import time
from dataclasses import dataclass, field
from itertools import compress

from . import description
from .details import Durations, Report, Reports
from .parts import Parts

MAGIC = b"HRCOUNTS"
VERSION = 1
HEAD = struct.Struct("=8sIIQQQQQ")
STATES = {0: "none", 1: "running", 2: "finalized"}
PAGE_MOST = 1 << 22  # bytes; the library's pages are about 100 KiB long


class Problem(Exception):
    """One sentence: why this is not a readable page."""


@dataclass
class Snapshot:
    """The values of a page at a moment. Values of different counters may be from slightly different moments."""

    page: Page
    words: memoryview
    state: str          # "running"; "finalized": after MPI_Finalize; "none"
    begun: float        # seconds since 1970
    ended: float | None
    taken: float = field(default_factory=time.time)

    def value(self, name: str) -> int:
        """Returns the value of a counter without a dimension, or the sum over its values if it has one."""
        return sum(self.values(name))

    def values(self, name: str) -> list[int]:
        """Returns values in the order in the page; `Page.labels(name)` names them."""
        places = self.page.places(name)
        values = self.words[places].tolist()
        rest = self.page.counter(name).get("rest")
        if rest:
            # Counters read at different moments could make the difference negative.
            values[rest["place"]] = max(0, values[rest["place"]] + self.value(rest["of"]) - sum(values))
        return values

    def table(self, name: str) -> dict:
        """Returns values that are not 0, by label: a name, or for peers a process's number (in its own job, the rank)."""
        labels, values = self.labels(name), self.values(name)
        return dict(zip(compress(labels, values), filter(None, values)))

    def labels(self, name: str) -> list:
        """Returns the labels of values(name). For peers: the process, or "others"; None for an unused row."""
        dimension = self.page.counter(name).get("dimension")
        if dimension != "peer":
            return self.page.labels(name)
        processes = self.words[self.page.places("peer.process")].tolist()
        others = self.page.description["dimensions"]["peer"].get("others", {})
        labels: list = [process - 1 if process else None for process in processes]
        for place, label in others.items():
            labels[int(place)] = label
        return labels


class Bytes:
    """Memory that holds a page."""

    def __init__(self, memory):
        self._memory = memoryview(memory)
        self.size = len(self._memory)

    def part(self, at: int, length: int) -> bytes:
        return bytes(self._memory[at:at + length])

    def close(self) -> None:
        self._memory.release()


class File:
    """An open file that contains a page. It is read instead of mapped, so that a truncated file causes an error and not
    a bus error. Owns the descriptor, and closes it with the object."""

    def __init__(self, file: int):
        self._file: int | None = file
        self.size = os.fstat(file).st_size

    def status(self) -> os.stat_result:
        return os.fstat(self._file)

    def name(self) -> str:
        """Returns the system's name of the file."""
        return os.readlink(f"/proc/self/fd/{self._file}")

    def part(self, at: int, length: int) -> bytes:
        """Returns fewer bytes if the file is shorter."""
        return os.pread(self._file, length, at)

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    __del__ = close


def _started(pid: int | str) -> int | None:
    """Returns when a process started, in system clock ticks; None if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def _namespace(pid: str) -> int | None:
    """Returns the PID namespace of a process."""
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino
    except OSError:
        return None


def _innermost(pid: str) -> str:
    """Returns the process id in the process's own namespace."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
            return next(line.split()[-1] for line in file if line.startswith("NSpid:"))
    except (OSError, StopIteration):
        return ""


class Page:
    """A page, read from memory or from a file that a process holds open."""

    def __init__(self, memory, place: str = ""):
        """`memory`: a File, which the page owns from now on, or bytes. Raises Problem."""
        self.place = place
        self.file: tuple[int, int] | None = None  # device and inode of a page that a process keeps open
        self.owner: int | None = None  # the user whose process keeps it open
        self._memory = memory if isinstance(memory, File) else Bytes(memory)
        head = self._memory.part(0, HEAD.size)
        if len(head) < HEAD.size:
            raise Problem(f"{place}: {len(head)} bytes are no page of counters")
        magic, version, _, self._size, text_at, text_bytes, _, _ = HEAD.unpack(head)
        if version == 0 and not any(magic):
            raise Problem(f"{place}: a page of counters that its process has not finished making")
        if magic != MAGIC:
            raise Problem(f"{place}: no page of counters")
        if version != VERSION:
            raise Problem(f"{place}: a page of counters of version {version}; this reader knows version {VERSION}. "
                          "Use the `headrace` of the program's installation")
        if self._size > min(self._memory.size, PAGE_MOST) or text_at + text_bytes > self._size or text_at % 8 or text_at < HEAD.size:
            raise Problem(f"{place}: a damaged page of counters: {self._memory.size} bytes, where {self._size} belong")
        try:
            self.description = description.read(self._memory.part(text_at, text_bytes), text_at)
            self._durations, self._reports = (of(self.description[name], text_at + text_bytes, self._size) if name in self.description else None
                                              for name, of in (("durations", Durations), ("reports", Reports)))
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            raise Problem(f"{place}: a damaged page of counters: what it says of itself cannot be read ({description.printable(str(error)[:120])})") from None
        self._counters = {each["name"]: each for each in self.description["counters"]}
        self._places = {name: self._slice(each) for name, each in self._counters.items()}
        labels = {name: self._names(each) for name, each in self.description["dimensions"].items()}
        self._labels = {name: labels[each["dimension"]] if "dimension" in each else [""] for name, each in self._counters.items()}
        self._parts = Parts(self.description["parts"]) if "parts" in self.description else None
        self.about = self.description["about"]
        self.job, self.rank, self.size = self.about["job"], self.about["rank"], self.about["size"]
        self._bytes = text_at

    def _slice(self, counter: dict) -> slice:
        at, stride = counter["at"] // 8, counter.get("stride", 8) // 8
        length = self.description["dimensions"][counter["dimension"]]["length"] if "dimension" in counter else 1
        return slice(at, at + stride * (length - 1) + 1, stride)

    @staticmethod
    def _names(dimension: dict) -> list:
        names = list(dimension.get("labels", []))
        return names + list(range(len(names), dimension["length"]))

    @property
    def job_of_owner(self) -> str:
        """Returns the job's name; for another user's job, which may have the same name, with that user's id."""
        return self.job if self.owner in (None, os.geteuid()) else f"{self.job}@{self.owner}"

    @property
    def names(self) -> list[str]:
        return list(self._counters)

    def counter(self, name: str) -> dict:
        """Returns the counter's entry in the description: name, unit, kind (sum, level, high_water), sentence, perhaps a
        dimension."""
        return self._counters[name]

    def places(self, name: str) -> slice:
        """Returns the indices of a counter in a Snapshot's `words`."""
        return self._places[name]

    def labels(self, name: str) -> list:
        return self._labels[name]

    def raw(self) -> bytes:
        """Returns the page's bytes. Raises Problem if its file has been truncated."""
        return self._whole(self._size_now(self._memory.part(0, HEAD.size)))

    def _size_now(self, head: bytes) -> int:
        """Returns the size according to the page's header, which grows with the parts in use."""
        size = HEAD.unpack_from(head)[3] if len(head) >= HEAD.size else 0
        return size if self._size < size <= min(self._memory.size, PAGE_MOST) else self._size

    def _whole(self, length: int) -> bytes:
        found = self._memory.part(0, length)
        if len(found) < length:
            raise Problem(f"{self.place}: this page of counters was cut off: {len(found)} bytes, where {length} belong")
        return found

    def read(self) -> Snapshot:
        """Reads the page. Raises Problem if its file has been truncated."""
        copy = self._whole(self._bytes)
        _, _, state, _, _, _, begun, ended = HEAD.unpack_from(copy)
        words = memoryview(copy).cast("Q")
        if self._parts is not None and (behind := self._size_now(copy) - self._parts.at) > 0:
            words = self._parts.added(words, self._memory.part(self._parts.at, behind))
        return Snapshot(self, words, STATES.get(state, "none"), begun / 1e9,
                        ended / 1e9 if ended else None)

    def durations(self) -> dict[str, dict[str, int]]:
        """Returns the numbers of calls by function and by duration: classes in nanoseconds, such as "1024-2047". Short calls that have not
        been counted yet are missing. Empty if the page does not have them."""
        if self._durations is None or "function.calls" not in self._counters:
            return {}
        return self._durations.read(self._memory.part, self._labels["function.calls"])

    def reports(self) -> tuple[int, list[Report]]:
        """Returns the number of the checker's reports, and the first ones that differ."""
        return self._reports.read(self._memory.part) if self._reports else (0, [])

    def alive(self) -> bool:
        """True if the page's process exists, and not merely another process with the same number. Valid only on the
        process's host."""
        return self.process() is not None

    def process(self) -> str | None:
        """Returns the number of the page's process in this host's /proc, which differs from the number within a
        container; None if the process has ended."""
        pid, started = self.about.get("pid", 0), self.about.get("pid_started")
        if started is None:
            return None
        if _started(pid) == started:
            return str(pid)
        keeper = self.place.split("/")
        if keeper[:2] != ["", "proc"] or _namespace(keeper[2]) == _namespace("self"):
            return None
        # The page belongs to a container, whose processes have different numbers here.
        return next((name for name in os.listdir("/proc") if name.isdigit() and _started(name) == started and _innermost(name) == str(pid)), None)

    def close(self) -> None:
        """Releases the memory; snapshots remain valid."""
        self._memory.close()
