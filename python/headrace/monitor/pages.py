"""The counter pages of this host's processes as a source. Not thread-safe.

A page stays open when its process has ended, so that its last figures are read once more, with details; then it is closed.
"""

from __future__ import annotations

import time
from itertools import compress, repeat

from headrace import counters
from headrace.counters import Page, Problem, Snapshot
from headrace.monitor import clock
from headrace.monitor.model import REPORT_MOST, Brief, Count, Details, Mark, Rank, Reading, Report, Sweep, clean, size_class
from headrace.monitor.origin import origin
from headrace.monitor.process import files, use

_LOOK_SECONDS = 1.8  # time between two searches for new pages
_COUNTER_MOST = 1 << 58  # a process cannot have counted more
_ONLY_GROW = ("calls", "sent", "sent_bytes", "received", "received_bytes")  # times are not among them: a wait that has just ended is estimated
_NOTHING = (0, 0, 0)
_JOB_MOST = 1 << 62  # maximum sum over all ranks of a job that the history can represent


class Pages:
    def __init__(self, saved: list[Page] | None = None, everyone: bool = False):
        """`saved`: pages from a counter file, used instead of this host's. `everyone`: pages of all users."""
        self._everyone = everyone
        self._pages: dict[str, Page] = {page.place: page for page in saved or ()}
        self._saved = saved is not None
        self._who: dict[str, Rank] = {}
        self._last: dict[str, tuple[int, Brief]] = {}  # pid and figures of each page
        self._gone: set[str] = set()
        self._problems: list[str] = []
        self._look_at = 0.0
        self._idle = counters.Idle()

    def close(self) -> None:
        self._pages.clear()

    def sweep(self, details: bool) -> Sweep:
        if not self._saved and time.monotonic() >= self._look_at:
            self._look()
        found = Sweep(clock.now(), remarks=[clean(problem, 300) for problem in self._problems[:8]])
        sums: dict[str, int] = {}
        for place, page in list(self._pages.items()):
            try:
                one = reading(page, details, self._saved or place in self._gone, self._who, self._saved)
                _bounded(one, sums)
                pid, before = self._last.get(place, (one.rank.pid, one.brief))
                if pid == one.rank.pid:
                    _grown(one.brief, before)
                self._last[place] = one.rank.pid, one.brief
                found.readings.append(one)
            except (Problem, KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
                found.remarks.append(clean(f"{place}: this page cannot be read ({type(error).__name__}: {error})", 300))
                self._gone.add(place)
        if details and not self._saved:
            for place in self._gone:
                self._pages.pop(place, None)
                self._who.pop(place, None)
            self._gone.clear()
        return found

    def _look(self) -> None:
        found = counters.look(known=self._pages.values(), idle=self._idle, everyone=self._everyone)
        self._problems = found.problems
        seen = {page.place: page for page in found.pages}
        self._gone = set()
        for place, page in seen.items():
            known = self._pages.get(place)
            if known is page:  # look() reuses only pages of existing processes
                continue
            if known is None or known.about.get("pid") != page.about.get("pid"):
                self._pages[place] = page
                self._who.pop(place, None)
            if not page.alive():
                self._gone.add(place)
        self._gone.update(place for place in self._pages if place not in seen)
        self._last = {place: last for place, last in self._last.items() if place in seen or place in self._pages}
        self._look_at = time.monotonic() + _LOOK_SECONDS


def _bounded(one: Reading, sums: dict[str, int]) -> None:
    """Checks that figures are in range. `sums`: the sums of the largest figures of each job's ranks. Raises ValueError
    if a page contains impossible figures."""
    most = max(one.brief)
    for counts in (one.details or {}).values():
        most = max(most, *map(max, counts.values())) if counts else most
    if most > _COUNTER_MOST or sums.get(one.rank.job, 0) + most > _JOB_MOST:
        raise ValueError(f"it has counted to {most}")
    sums[one.rank.job] = sums.get(one.rank.job, 0) + most


def _grown(now: Brief, before: Brief) -> None:
    """Raises ValueError if a counter that can only grow is smaller than before."""
    for name in _ONLY_GROW:
        if getattr(now, name) < getattr(before, name):
            raise ValueError(f"its {name} ran backwards, from {getattr(before, name)} to {getattr(now, name)}")


def _value(now: Snapshot, name: str) -> int:
    return now.value(name) if name in now.page._counters else 0


def _long_wait(now: Snapshot) -> int:
    """Returns the nanoseconds of a wait that has not ended, which its counter does not include yet."""
    since = _value(now, "now.waiting_since")
    return max(0, time.monotonic_ns() - since) if since and now.state == "running" else 0


def _rank(page: Page, now: Snapshot) -> Rank:
    about = page.about
    cores = about.get("cores", "")
    return Rank(clean(page.job_of_owner), page.rank, page.size, int(about.get("pid", 0)), clean(str(about.get("host", ""))),
                clean(str(about.get("program", ""))).rpartition("/")[2], now.begun or now.taken,
                clean(",".join(map(str, cores)) if isinstance(cores, list) else str(cores)), clean(str(about.get("gpus") or "")),
                origin(page))


def reading(page: Page, details: bool, gone: bool, who: dict[str, Rank], saved: bool = False) -> Reading:
    """`who`: the identity of each known page's rank, by index; filled in here. `saved`: the page is from a file, which may have been written while
    the process was running."""
    now = page.read()
    rank = who.get(page.place)
    if rank is None:
        rank = who[page.place] = _rank(page, now)
    ended = gone or now.state == "finalized"
    under_way = 0 if ended else _long_wait(now)
    wait = _value(now, "wait.time") + under_way
    brief = Brief(_value(now, "function.calls"), max(_value(now, "function.time") + under_way, wait), wait, _value(now, "peer.messages"),
                  _value(now, "peer.bytes"), _value(now, "received.messages"), _value(now, "received.bytes"),
                  *((0, 0, 0) if ended else (_value(now, "posted.now"), _value(now, "unexpected.now"), _value(now, "unexpected.bytes"))))
    said = Reading(rank, brief, ended, _details(now) if details else None, marks=_marks(now) if details else (), died=gone and not saved and now.state == "running")
    if details:
        said.reports = _reports(page)
        if not ended and (process := page.process()):
            said.details.update(_of_process(process))
    if not ended:
        said.function, said.waits_for = _now(now)
    if under_way and said.function and said.details is not None:  # the call's time includes this wait only once it has ended
        calls = said.details["call"]
        known = calls.get(said.function, Count(1))
        calls[said.function] = known._replace(ns=known.ns + under_way)
    return said


def _of_process(process: str) -> Details:
    found: Details = {}
    if used := use(process):
        found.update(cpu={"process": Count(ns=used.cpu_ns)}, resident={"process": Count(used.resident, used.most)})
    if moved := files(process):
        found["file"] = {name: count for name, count in (("read", Count(moved.reads, moved.read)), ("written", Count(moved.writes, moved.written)),
                                                         ("read from storage", Count(bytes=moved.from_storage)), ("written to storage", Count(bytes=moved.to_storage))) if any(count)}
    return found


def _now(now: Snapshot) -> tuple[str, int | None]:
    number, process = _value(now, "now.function"), _value(now, "now.waiting_for")
    labels = now.page.labels("function.calls") if number else []  # the first label means no function
    function = clean(str(labels[number])) if 0 < number < len(labels) else ""
    waits = bool(_value(now, "now.waiting_since"))
    return function, process - 1 if process and waits else None


def _marks(now: Snapshot) -> tuple[Mark, ...]:
    """Returns the marks that the page still contains, which are the last ones."""
    count = _value(now, "phase.marks")
    if not count or not {"phase.time", "phase.level"} <= now.page._counters.keys():
        return ()
    times, levels = now.values("phase.time"), now.values("phase.level")
    length = min(len(times), len(levels))
    return tuple(Mark(number, clock.from_wall(times[number % length] / 1e9), _signed(levels[number % length])) for number in range(max(0, count - length), count))


def _reports(page: Page) -> tuple[Report, ...]:
    count, found = page.reports()
    said = [Report(number, clock.from_wall(one.time), min(one.times, _COUNTER_MOST), clean(one.text, REPORT_MOST)) for number, one in enumerate(found)]
    if said and 0 < (more := count - sum(one.times for one in found)) < _COUNTER_MOST:
        said.append(Report(len(said), said[-1].time, more, "further reports, for which the page has no room"))
    return tuple(said)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _triples(now: Snapshot, count: str, size: str = "", ns: str = "", prefix: str = "") -> dict[str, Count]:
    """Combines counters of one dimension that belong together, by label."""
    if count not in now.page._counters:
        return {}
    columns = [now.values(name) if name and name in now.page._counters else repeat(0) for name in (count, size, ns)]
    found: dict[str, Count] = {}
    for label, figures in zip(now.labels(count), zip(*columns)):
        if figures != _NOTHING and label is not None:
            key = prefix + clean(str(label))
            before = found.get(key)
            found[key] = Count(*map(sum, zip(before, figures))) if before else Count(*figures)
    return found


def _peers(found: dict[str, Count], most: int) -> dict[str, Count]:
    """Returns the peers of this job; counters shared by several ("others (same host)") are not part of a matrix."""
    return {key: count for key, count in found.items() if key.isdecimal() and int(key) < most}


def _operations(now: Snapshot) -> dict[str, Count]:
    """Returns the numbers of collectives by operation and size."""
    dimension = now.page.description["dimensions"].get("operation_size")
    if dimension is None or "collective.sizes" not in now.page._counters:
        return {}
    names, sizes, found = dimension["operations"], dimension["sizes"], {}
    counts = now.values("collective.sizes")
    for place in compress(range(len(counts)), counts):
        if place // sizes < len(names):
            found[clean(f"{names[place // sizes]} {size_class(place % sizes)}")] = Count(counts[place])
    return found


def _buffers(now: Snapshot) -> dict[str, Count]:
    """Returns the memory of communication buffers by the part that keeps them, now and at most."""
    found = _triples(now, "buffer.now", "buffer.most")
    kept = Count(_value(now, "unexpected.bytes"), _value(now, "unexpected.most_bytes"))
    return {**found, "unexpected": kept} if any(kept) else found


def _details(now: Snapshot) -> Details:
    size = now.page.size
    return {
        "call": _triples(now, "function.calls", "function.bytes", "function.time"),
        "sent_to": _peers(_triples(now, "peer.messages", "peer.bytes"), size),
        "internal_to": _peers(_triples(now, "peer.internal_messages", "peer.internal_bytes"), size),
        "waited_for": _peers(_triples(now, "peer.waits", "", "peer.wait"), size),
        "protocol": _triples(now, "received.messages", "received.bytes"),
        "memory": {**_triples(now, "sent.memory_messages", "sent.memory_bytes", prefix="sent "),
                   **_triples(now, "received.memory_messages", "received.memory_bytes", prefix="received ")},
        "size": _triples(now, "sent.sizes"),
        "collective": _triples(now, "collective.calls", "collective.bytes"),
        "access": _triples(now, "access.calls", "access.bytes"),
        "library": {name[8:]: Count(now.value(name)) for name in now.page.names
                    if name.startswith("library.") and now.page.counter(name)["kind"] == "sum" and now.value(name)},
        "queue": {name: Count(_value(now, f"{name}.now"), _value(now, f"{name}.most")) for name in ("posted", "unexpected")},
        "buffer": _buffers(now),
        "operation": _operations(now),
        "phase": {"marks": Count(marks)} if (marks := _value(now, "phase.marks")) else {},
        "duration": {clean(f"{function} {length}"): Count(calls) for function, lengths in now.page.durations().items() for length, calls in lengths.items()},
    }
