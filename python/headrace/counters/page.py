"""One page: its head, its description of itself, and what it holds at a moment."""

from __future__ import annotations

import json
import struct
import time
from dataclasses import dataclass, field
from itertools import compress

MAGIC = b"HRCOUNTS"
VERSION = 1
HEAD = struct.Struct("=8sIIQQQQQ")
STATES = {0: "none", 1: "running", 2: "finalized"}


class Problem(Exception):
    """One sentence: why this is no page that can be read."""


@dataclass
class Snapshot:
    """What a page held at a moment. Values of different counters may be of slightly different moments."""

    page: Page
    words: memoryview
    state: str          # "running"; "finalized": it has called MPI_Finalize; "none"
    begun: float        # seconds since 1970
    ended: float | None
    taken: float = field(default_factory=time.time)

    def value(self, name: str) -> int:
        """A counter without a dimension; the sum of one that has some."""
        return sum(self.values(name))

    def values(self, name: str) -> list[int]:
        """In the order of the page's places; `Page.labels(name)` names them."""
        places = self.page.places(name)
        values = self.words[places].tolist()
        rest = self.page.counter(name).get("rest")
        if rest:
            values[rest["place"]] += self.value(rest["of"]) - sum(values)
        return values

    def table(self, name: str) -> dict:
        """What is not 0, by its label: a name, or of peers a number of a process (the rank, for the own job's)."""
        labels, values = self.labels(name), self.values(name)
        return dict(zip(compress(labels, values), filter(None, values)))

    def labels(self, name: str) -> list:
        """Those of values(name). Of peers: the process, or "others"; None where there is none yet."""
        dimension = self.page.counter(name).get("dimension")
        if dimension != "peer":
            return self.page.labels(name)
        processes = self.words[self.page.places("peer.process")].tolist()
        others = self.page.description["dimensions"]["peer"]["others"]
        labels: list = [process - 1 if process else None for process in processes]
        for place, label in others.items():
            labels[int(place)] = label
        return labels


class Page:
    """A page, by the bytes that hold it: mapped memory of a process, or a part of a file."""

    def __init__(self, memory, place: str = ""):
        self.place = place
        self.file: tuple[int, int] | None = None  # device and number, of a page that a process keeps
        self._memory = memoryview(memory)
        if len(self._memory) < HEAD.size:
            raise Problem(f"{place}: {len(self._memory)} bytes are no page of counters")
        magic, version, _, size, text_at, text_bytes, _, _ = HEAD.unpack_from(self._memory)
        if version == 0 and not any(magic):
            raise Problem(f"{place}: a page of counters that its process has not finished making")
        if magic != MAGIC:
            raise Problem(f"{place}: no page of counters")
        if version != VERSION:
            raise Problem(f"{place}: a page of counters of version {version}; this reader knows version {VERSION}. "
                          "Use the `headrace` of the program's installation")
        if size > len(self._memory) or text_at + text_bytes > size or text_at % 8:
            raise Problem(f"{place}: a damaged page of counters: {len(self._memory)} bytes, where {size} belong")
        try:
            self.description = json.loads(bytes(self._memory[text_at:text_at + text_bytes]))
            self._counters = {each["name"]: each for each in self.description["counters"]}
            self._places = {name: self._slice(each, text_at) for name, each in self._counters.items()}
            self._labels = {name: self._names(each) for name, each in self._counters.items()}
            self.about = self.description["about"]
            self.job, self.rank, self.size = self.about["job"], int(self.about["rank"]), int(self.about["size"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Problem(f"{place}: a damaged page of counters: what it says of itself cannot be read ({error})") from None
        self._bytes = text_at

    def _slice(self, counter: dict, limit: int) -> slice:
        at, stride = counter["at"] // 8, counter.get("stride", 8) // 8
        length = self._length(counter)
        if counter["at"] % 8 or stride < 1 or (at + stride * (length - 1)) * 8 + 8 > limit:
            raise ValueError(f"{counter['name']} lies outside")
        return slice(at, at + stride * (length - 1) + 1, stride)

    def _length(self, counter: dict) -> int:
        return self.description["dimensions"][counter["dimension"]]["length"] if "dimension" in counter else 1

    def _names(self, counter: dict) -> list:
        if "dimension" not in counter:
            return [""]
        dimension = self.description["dimensions"][counter["dimension"]]
        names = list(dimension.get("labels", []))
        return names + list(range(len(names), dimension["length"]))

    @property
    def names(self) -> list[str]:
        return list(self._counters)

    def counter(self, name: str) -> dict:
        """Its entry in the description: name, unit, kind (sum, level, high_water), sentence, perhaps a dimension."""
        return self._counters[name]

    def places(self, name: str) -> slice:
        """Of a counter, in a Snapshot's `words`."""
        return self._places[name]

    def labels(self, name: str) -> list:
        return self._labels[name]

    def raw(self) -> bytes:
        return bytes(self._memory[:HEAD.unpack_from(self._memory)[3]])

    def read(self) -> Snapshot:
        copy = bytes(self._memory[:self._bytes])
        _, _, state, _, _, _, begun, ended = HEAD.unpack_from(copy)
        return Snapshot(self, memoryview(copy).cast("Q"), STATES.get(state, "none"), begun / 1e9,
                        ended / 1e9 if ended else None)

    def alive(self) -> bool:
        """Whether its process is there: the number may be another process's by now. Only on the process's host."""
        try:
            with open(f"/proc/{self.about['pid']}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return False
        return fields[0] not in "ZX" and int(fields[19]) == int(self.about["pid_started"])

    def close(self) -> None:
        """The mapping, if any, goes with the last reference to the page and its snapshots."""
        self._memory.release()
