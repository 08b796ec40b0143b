"""The newest figures as metrics, for jobs that are running or have just ended: as the text that Prometheus reads at `/metrics`, or as families
that otlp.py sends.

The number of series is bounded: there are series for ranks only in jobs of moderate size, for the functions that take
the most time in a job, and for a fixed number of links and GPUs. headrace_series_left_out counts the series beyond
that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from headrace.monitor import durations
from headrace.monitor.model import Brief, Count, Origin, Reading, Sweep

if TYPE_CHECKING:  # the packages of its web server may be missing
    from headrace.monitor.collector import State
    from headrace.monitor.door import Door

_BRIEF = {
    "calls": ("headrace_calls_total", "counter", "Calls of MPI functions", 1),
    "mpi_ns": ("headrace_mpi_seconds_total", "counter", "Time inside MPI functions", 1e9),
    "wait_ns": ("headrace_wait_seconds_total", "counter", "Time waiting for other ranks", 1e9),
    "sent": ("headrace_sent_messages_total", "counter", "Messages sent", 1),
    "sent_bytes": ("headrace_sent_bytes_total", "counter", "Bytes sent", 1),
    "received": ("headrace_received_messages_total", "counter", "Messages received", 1),
    "received_bytes": ("headrace_received_bytes_total", "counter", "Bytes received", 1),
    "posted": ("headrace_posted_receives", "gauge", "Receives that have met no message", 1),
    "unexpected": ("headrace_unexpected_messages", "gauge", "Messages that have met no receive", 1),
    "unexpected_bytes": ("headrace_unexpected_bytes", "gauge", "Bytes of messages that have met no receive", 1),
}
_RANKS_OF_A_JOB = 1024  # larger jobs have only sums
_RANKS_MOST = 4096
_JOBS_MOST = 500
_FUNCTIONS_MOST = 24  # limit per job; the rest is "other"
_BUFFERS_MOST = 16  # parts of the library that keep buffers
_HISTOGRAMS_MOST = 8  # limit of the functions of a job whose calls are counted by duration
_BOUNDS = tuple(1024 * 4 ** power for power in range(13))  # nanoseconds, from 1 us to 17 s
_FIGURES_MOST = 50_000  # limit for links, and for hosts
_LINK = {
    "rx": ("headrace_link_receive_bytes_per_second", "Bytes received over a link"), "tx": ("headrace_link_transmit_bytes_per_second", "Bytes sent over a link"),
    "packets": ("headrace_link_packets_per_second", "Packets in both directions"), "use": ("headrace_link_use_ratio", "Share of a link's speed in use, in its busier direction"),
    "up": ("headrace_link_up", "Whether a link is up"), "speed": ("headrace_link_speed_bytes_per_second", "Speed of a link, each way"),
    "errors": ("headrace_link_errors_per_second", "Errors of a link"), "discards": ("headrace_link_discards_per_second", "Packets that a link discards"),
    "waits": ("headrace_link_waits_per_second", "Ticks in which a link could not send"), "retries": ("headrace_link_retries_per_second", "Packets sent again, or out of order"),
    "congestion": ("headrace_link_congestion_per_second", "Notices of congestion"),
}
_MACHINE = {"cpu": "headrace_host_cpu", "net": "headrace_host_network_bytes_per_second", "gpu": "headrace_host_gpu", "memory": "headrace_host_memory", "lustre": "headrace_host_lustre_bytes_per_second"}


_FUNCTION = (("headrace_function_calls_total", "Calls of an MPI function, of all ranks of a job", 1), ("headrace_function_bytes_total", "Bytes of messages sent in an MPI function", 1),
             ("headrace_function_seconds_total", "Time in an MPI function", 1e9))


_OF_A_NODE = (("function_calls_total", "Calls of an MPI function since the monitor's start", 1), ("function_bytes_total", "Bytes of messages sent in an MPI function since the monitor's start", 1),
              ("function_seconds_total", "Time of all ranks in an MPI function since the monitor's start", 1e9))
_FILES = {"read": ("calls", "read"), "written": ("calls", "write"), "read from storage": ("storage", "read"), "written to storage": ("storage", "write")}


class Histogram(NamedTuple):
    """Calls by duration. `counts`: those up to each bound, which are not included in the next ones, and those beyond the last one."""

    bounds: tuple[float, ...]  # seconds
    counts: list[int]
    sum: float  # seconds


class Point(NamedTuple):
    labels: dict[str, object]
    value: float | Histogram
    began: float = 0.0  # since when a counter counts, in seconds since 1970; 0: unknown


class Family(NamedTuple):
    name: str
    kind: str  # "gauge", "counter", "histogram"
    sentence: str
    points: list[Point]


def _shown(state: State) -> tuple[list[Reading], int]:
    """Returns the readings of ranks that have their own series, and the number of other ranks."""
    sizes = Counter(reading.rank.job for reading in state.sweep.readings)
    shown = [reading for reading in state.sweep.readings if sizes[reading.rank.job] <= _RANKS_OF_A_JOB][:_RANKS_MOST]
    return shown, len(state.sweep.readings) - len(shown)


def _figures(state: State, prefix: str) -> tuple[list[tuple[str, str, float]], int]:
    found = [(host, what, value) for host, figures in state.machine.items() for what, value in figures.items() if what.startswith(prefix)]
    return found[:_FIGURES_MOST], max(0, len(found) - _FIGURES_MOST)


def _scaled(value: float, unit: float) -> float:
    return value if unit == 1 else value / unit


def _of_jobs(state: State) -> Iterator[Family]:
    """Sums of each job, its origin, and its functions."""
    sums: dict[str, list[int]] = {}
    origins: dict[str, tuple[str, Origin]] = {}
    began: dict[str, float] = {}
    for reading in state.sweep.readings:
        job = reading.rank.job
        if job not in sums and len(sums) >= _JOBS_MOST:
            continue
        sums[job] = [a + b for a, b in zip(sums.get(job, [0] * len(Brief._fields)), reading.brief)]
        began[job] = min(began.get(job, reading.rank.began), reading.rank.began)
        origins.setdefault(job, (reading.rank.program, reading.rank.origin))
    yield Family("headrace_job_info", "gauge", "User and batch job of a job", [
        Point({"mpi_job": job, "program": program, "user": origin.user, "batch": origin.batch, "batch_job": origin.batch_job, "batch_name": origin.batch_name}, 1)
        for job, (program, origin) in origins.items()])
    for field, (name, kind, sentence, unit) in _BRIEF.items():
        place = Brief._fields.index(field)
        yield Family(name.replace("headrace_", "headrace_job_", 1), kind, f"{sentence}, of all ranks of a job",
                     [Point({"mpi_job": job}, _scaled(values[place], unit), began[job]) for job, values in sums.items()])
    known = [(job, function, values) for job in sums.keys() & state.functions.keys() for function, values in state.functions[job].items()]
    for place, (name, sentence, unit) in enumerate(_FUNCTION):
        yield Family(name, "counter", sentence, [Point({"mpi_job": job, "function": function}, _scaled(values[place], unit), began[job]) for job, function, values in known])
    yield Family("headrace_function_duration_seconds", "histogram", "Calls of an MPI function by duration, of all ranks of a job", [
        Point({"mpi_job": job, "function": function}, _histogram(classes, state.functions[job][function].ns / 1e9), began[job])
        for job in sums.keys() & state.durations.keys() & state.functions.keys() for function, classes in state.durations[job].items() if function in state.functions[job]])
    yield Family("headrace_job_checker_reports_total", "counter", "Reports of the checker, of all ranks of a job",
                 [Point({"mpi_job": job}, state.reports.get(job, 0), began[job]) for job in sums])


    yield Family("headrace_job_buffer_bytes", "gauge", "Memory of communication buffers of all ranks of a job, by the part of the library that keeps them",
                 [Point({"mpi_job": job, "kept_by": name}, sum_) for job in sums.keys() & state.buffers.keys() for name, sum_ in state.buffers[job].items()])
    yield Family("headrace_job_file_bytes_total", "counter", "Bytes that processes of a job have read and written in system calls, and of these from and to storage",
                 [Point({"mpi_job": job, "level": _FILES[name][0], "way": _FILES[name][1]}, sum_, began[job]) for job in sums.keys() & state.totals.files.keys()
                  for name, sum_ in state.totals.files[job].items() if name in _FILES])


def buffers(sweep: Sweep) -> dict[str, dict[str, int]]:
    """Returns the memory of each job's communication buffers by the part of the library that keeps them."""
    found: dict[str, Counter] = {}
    for reading in sweep.readings:
        for name, count in (reading.details or {}).get("buffer", {}).items():
            found.setdefault(reading.rank.job, Counter())[name] += count.count
    return {job: dict(counts.most_common(_BUFFERS_MOST)) for job, counts in found.items()}


def _of_nodes(state: State) -> Iterator[Family]:
    """Sums of MPI functions by node and over the cluster, and messages by size."""
    for place, (name, sentence, unit) in enumerate(_OF_A_NODE):
        yield Family(f"headrace_host_{name}", "counter", f"{sentence}, of all ranks on a host",
                     [Point({"host": host, "function": function}, _scaled(values[place], unit)) for host, functions in state.totals.hosts.items() for function, values in functions.items()])
        yield Family(f"headrace_cluster_{name}", "counter", f"{sentence}, of all ranks that the monitor sees",
                     [Point({"function": function}, _scaled(values[place], unit)) for function, values in state.totals.cluster.items()])
    yield Family("headrace_cluster_messages_total", "counter", "Messages sent since the monitor's start, by size in bytes, by all ranks that the monitor sees",
                 [Point({"size": size}, count) for size, count in state.totals.sizes.items()])


def _histogram(classes: durations.Classes, seconds: float) -> Histogram:
    counts = [0] * (len(_BOUNDS) + 1)
    for begin, count in classes.items():
        counts[next((place for place, bound in enumerate(_BOUNDS) if begin < bound), len(_BOUNDS))] += count
    return Histogram(tuple(bound / 1e9 for bound in _BOUNDS), counts, seconds)


def functions(sweep: Sweep) -> dict[str, dict[str, Count]]:
    """Returns the counters of each job's functions, most time first, and the sum of the rest as "other"."""
    found: dict[str, dict[str, Count]] = {}
    for reading in sweep.readings:
        known = found.setdefault(reading.rank.job, {})
        for name, count in (reading.details or {}).get("call", {}).items():
            before = known.get(name)
            known[name] = Count(before[0] + count[0], before[1] + count[1], before[2] + count[2]) if before else count
    for job, counts in found.items():
        ordered = sorted(counts.items(), key=lambda item: (-item[1].ns, item[0]))
        found[job] = dict(ordered[:_FUNCTIONS_MOST])
        if rest := [count for _, count in ordered[_FUNCTIONS_MOST:]]:
            found[job]["other"] = Count(*map(sum, zip(*rest)))
    return found


def lengths(sweep: Sweep, of: dict[str, dict[str, Count]]) -> dict[str, dict[str, durations.Classes]]:
    """Returns the calls by duration of the functions that take most of each job's time. `of`: the result of functions()."""
    counts: dict[str, Counter] = {}
    for reading in sweep.readings:
        known = counts.setdefault(reading.rank.job, Counter())
        for key, count in (reading.details or {}).get("duration", {}).items():
            known[key] += count.count
    found: dict[str, dict[str, durations.Classes]] = {}
    for job, keys in counts.items():
        classes = durations.by_function(keys.items())
        chosen = [name for name in of.get(job, {}) if name in classes][:_HISTOGRAMS_MOST]
        found[job] = {name: classes[name] for name in chosen}  # without those not counted yet: a sum may never decrease
    return found


def reports(sweep: Sweep) -> dict[str, int]:
    """Returns the number of the checker's reports by job; jobs without any are missing."""
    found: Counter = Counter()
    for reading in sweep.readings:
        found[reading.rank.job] += sum(report.times for report in reading.reports)
    return {job: count for job, count in found.items() if count}


def families(state: State, door: Door | None = None) -> Iterator[Family]:
    """All metrics. `door`: counts connections to the page."""
    running: dict[tuple[str, str], int] = {}
    for reading in state.sweep.readings:
        key = (reading.rank.job, reading.rank.program)
        running[key] = running.get(key, 0) + (not reading.ended)
    yield Family("headrace_ranks", "gauge", "Ranks of a job that run", [Point({"mpi_job": job, "program": program}, count) for (job, program), count in running.items()])
    yield from _of_jobs(state)
    yield from _of_nodes(state)
    shown, left_out = _shown(state)
    left_out += state.totals.left_out
    who = [({"mpi_job": reading.rank.job, "program": reading.rank.program, "rank": reading.rank.rank, "host": reading.rank.host}, reading) for reading in shown]
    for field, (name, kind, sentence, unit) in _BRIEF.items():
        place = Brief._fields.index(field)
        yield Family(name, kind, sentence, [Point(labels, _scaled(reading.brief[place], unit), reading.rank.began) for labels, reading in who])
    links, beyond = _figures(state, "link.")
    left_out += beyond
    for word, (name, sentence) in _LINK.items():
        yield Family(name, "gauge", sentence, list(_points_of_links(links, word)))
    for word, name in _MACHINE.items():
        chosen, beyond = _figures(state, f"{word}.")
        left_out += beyond
        yield Family(name, "gauge", "Of the host; what it is stands in its labels", [Point({"host": host, "device": device, "figure": figure}, value) for host, what, value in chosen
                                                                                  for device, _, figure in [what.partition(".")[2].rpartition(".")]])
    if state.sweep.reporters:
        yield Family("headrace_reporter_up", "gauge", "Whether the collector of another host reports",
                     [Point({"host": reporter.host, "address": reporter.address}, int(reporter.live)) for reporter in state.sweep.reporters])
    yield Family("headrace_series_left_out", "gauge", "Ranks and figures of hosts that have no series of their own, as there are too many", [Point({}, left_out)])
    yield Family("headrace_collector_cpu_seconds_total", "counter", "Time of a core that collecting took", [Point({}, state.cpu_seconds)])
    if door:
        yield Family("headrace_page_dropped_total", "counter", "Connections to the page that were ended or not understood",
                     [Point({"why": why}, count) for why, count in (("crowd", door.dropped), ("late", door.late), ("malformed", door.malformed))])


def _points_of_links(links: list[tuple[str, str, float]], word: str) -> Iterator[Point]:
    for host, what, value in links:
        kind, _, rest = what[5:].partition(".")
        link, _, figure = rest.rpartition(".")
        if figure == word:
            yield Point({"host": host, "link": link, "kind": kind}, value)


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _labels(values: dict[str, object]) -> str:
    return "{" + ",".join(f'{name}="{_label(str(value))}"' for name, value in values.items()) + "}" if values else ""


def _lines(family: Family) -> Iterator[str]:
    name = family.name
    yield f"# HELP {name} {family.sentence}."
    yield f"# TYPE {name} {family.kind}"
    for labels, value, _ in family.points:
        if not isinstance(value, Histogram):
            yield f"{name}{_labels(labels)} {value}"
            continue
        count = 0
        for bound, more in zip((*map(str, value.bounds), "+Inf"), value.counts):
            count += more
            yield f"{name}_bucket{_labels({**labels, 'le': bound})} {count}"
        yield f"{name}_sum{_labels(labels)} {value.sum}"
        yield f"{name}_count{_labels(labels)} {count}"


def text(state: State, door: Door | None = None) -> str:
    """The metrics in Prometheus's text format."""
    return "\n".join(line for family in families(state, door) for line in _lines(family)) + "\n"
