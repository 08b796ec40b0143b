"""`headrace tune --explain`: shows which rows of the tuning file and which tuned limits a run would use, from its saved counters.

A run counts collectives by operation and size, in powers of two; all ranks of the job are assumed to have taken part.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace import counters, own_files
from headrace.bench.child import Failed, run
from headrace.bench.figure import size_text
from headrace.bench.grid import grid
from headrace.bench.programs import Programs, locate
from headrace.tune import files, messages
from headrace.tune.choose import DEFAULT
from headrace.tune.collectives import selection

_LIMITS = {"eager_bytes": 16 << 10, "network_eager_bytes": None}  # untuned values; None: depends on the path
_SECONDS = 3600
_ANY = 0x7fffffff


@dataclass(frozen=True)
class Query:
    """One kind of operation of the run. `least` and `most`: bytes."""

    operation: str
    least: int
    most: int
    ranks: int
    hosts: int
    each: int
    oversubscribed: bool


@dataclass(frozen=True)
class Saved:
    """A run: the counters of its ranks."""

    name: str
    pages: Sequence[counters.Page]

    def __post_init__(self):
        if not self.pages:
            raise Failed(f"{self.name} holds no counters")

    @property
    def hosts(self) -> Counter[int]:
        """Returns the number of ranks on each host, by host number."""
        return Counter(page.about["host_number"] for page in self.pages)

    def sum(self, name: str) -> Counter:
        total: Counter = Counter()
        for page in self.pages:
            try:
                total.update(page.read().table(name))
            except KeyError:
                raise Failed(f"{self.name} is of a library without the counter {name}") from None
        return total

    def head(self) -> str:
        names = ", ".join(dict.fromkeys(page.about["host"] for page in self.pages))
        return f"{self.name}: {self.pages[0].size} ranks of {Path(self.pages[0].about['program']).name} on {names}"


def covers(row: dict, query: Query, bytes_: int) -> bool:
    """Mirrors Choice::covers in src/coll/select.cpp, for host memory."""
    return (row["operation"] == query.operation and bytes_ <= row.get("max_bytes", bytes_) and query.ranks <= row.get("max_ranks", _ANY)
            and query.hosts <= row.get("max_hosts", _ANY) and query.each <= row.get("max_ranks_per_host", _ANY)
            and row.get("memory", "host") == "host" and row.get("oversubscribed", query.oversubscribed) == query.oversubscribed)


def row_for(rows: Sequence[dict], query: Query, bytes_: int) -> int | None:
    """Returns the one-based number of the first row that covers the query."""
    return next((place for place, row in enumerate(rows, 1) if covers(row, query, bytes_)), None)


def queries(saved: Saved, cpus: int) -> Iterator[tuple[Query, int]]:
    """Returns the run's operations, and the number of calls on each rank."""
    dimension = saved.pages[0].description["dimensions"].get("operation_size")
    if dimension is None:
        raise Failed(f"{saved.name} is of a library that does not count collectives by size")
    hosts = saved.hosts
    each = max(hosts.values())
    for place, count in sorted(saved.sum("collective.sizes").items()):
        operation, size = divmod(place, dimension["sizes"])
        if operation >= len(dimension["operations"]):
            raise Failed(f"{saved.name} has counted operations that it has no name for")
        least, most = (0, 0) if size == 0 else (1 << (size - 1), (1 << size) - 1)
        yield (Query(dimension["operations"][operation], least, most, saved.pages[0].size, len(hosts), each,
                     len(hosts) == 1 and each > cpus), max(1, count // len(saved.pages)))


def _sizes(query: Query) -> str:
    return "-" if query.most == 0 else size_text(query.least) if query.least == query.most else f"{size_text(query.least)} to {query.most}"


def collectives(saved: Saved, rows: Sequence[dict], cpus: int) -> str:
    lines = []
    for query, count in queries(saved, cpus):
        first, last = row_for(rows, query, query.least), row_for(rows, query, query.most)
        for place in dict.fromkeys((first, last)):
            row = rows[place - 1] if place else {}
            algorithm = row.get("algorithm", DEFAULT)
            why = row.get("why", "" if row else "no row covers it")
            up_to = f", up to {size_text(row['max_bytes'])}" if place and first != last and "max_bytes" in row else ""
            lines.append([query.operation, _sizes(query) + up_to, str(count), str(place or "-"),
                          "as built in" if algorithm == DEFAULT else algorithm, why])
    if not lines:
        return "The run has called no collective."
    took = ", ".join(f"{name} {count // len(saved.pages) or count}" for name, count in sorted(saved.sum("collective.calls").items()))
    return grid(["collective", "bytes", "calls a rank", "row", "algorithm", "why"], lines, False) + f"\nThe run itself took: {took}."


def limits(saved: Saved, text: str) -> str:
    """Returns, for each tuned limit, the number of the run's messages whose length is between the untuned value and
    that limit."""
    sizes = {label: count for label, count in saved.sum("sent.sizes").items()}
    total = sum(sizes.values())
    lines = []
    for name, value in messages.settings(text).items():
        knob = name.split("@")[0].strip()
        if knob in ("machine", "version"):
            continue
        why = next((line.partition("#")[2].strip() for line in text.splitlines() if line.split("=")[0].strip() == name), "")
        usual = _LIMITS.get(knob)
        between = "-"
        if usual is not None and value.isdigit():
            low, high = sorted((usual, int(value)))
            between = str(sum(count for label, count in sizes.items() if low < int(str(label).split("-")[-1]) and int(str(label).split("-")[0]) < high))
        lines.append([name, value, between, why])
    if not lines:
        return "No tuned limits of messages are in use."
    return grid(["limit", "value", f"goes another way, of {total} messages", "why"], lines, False)


def _is_saved(path: Path) -> bool:
    if not path.is_file():
        return False
    with open(own_files.open_regular(path, 1 << 62), "rb") as file:
        return file.read(8) == b"HRSAVED1"


def _pages(programs: Programs, words: Sequence[str], work: Path) -> Saved:
    if len(words) == 1 and _is_saved(Path(words[0])):
        return Saved(words[0], counters.load(words[0]))
    if len(words) == 1 and words[0].endswith(".hrc"):
        return Saved(words[0], counters.load(words[0]))  # an unreadable file is reported there
    options = list(words[1:] if Path(words[0]).name in ("mpiexec", "mpirun") else words)
    file = work / "run.hrc"
    print(run([str(programs.mpiexec), "--save-counters", str(file), *options], _SECONDS, programs.environment()), end="")
    return Saved(" ".join(words), counters.load(file))


def explain(build: Path, words: Sequence[str]) -> int:
    programs = locate(build)
    known = selection(programs)
    with tempfile.TemporaryDirectory(prefix="headrace-tune-") as work:
        saved = _pages(programs, words, Path(work))
        print(saved.head())
        of_rows, of_messages = known["tuning_file"], known["messages"]
        rows = [] if of_rows["problem"] or not of_rows["found"] else json.loads(own_files.read_text(of_rows["path"], 1 << 24))["rows"]
        state = f"{of_rows['path']}: {of_rows['problem'] or ('not there' if not of_rows['found'] else f'{len(rows)} rows')}"
        print(f"tuning file {state}\n\n{collectives(saved, rows, known['machine']['cpus'])}")
        used = "" if of_messages["left_out"] else files.text_before(Path(of_messages["path"])) if of_messages["path"] else ""
        print(f"\ntuned messages {of_messages['path']}{': ' + of_messages['left_out'] if of_messages['left_out'] else ''}\n\n{limits(saved, used)}")
    return 0
