"""`/metrics`: the newest figures in the text format that Prometheus reads, for jobs that are running or have recently
ended.

The number of series is bounded: there are series for ranks only in jobs of moderate size, for the functions that take
the most time in a job, and for a fixed number of links and GPUs. headrace_series_left_out counts the series beyond
that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

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
_FIGURES_MOST = 50_000  # limit for links, and for hosts
_LINK = {
    "rx": ("headrace_link_receive_bytes_per_second", "Bytes received over a link"), "tx": ("headrace_link_transmit_bytes_per_second", "Bytes sent over a link"),
    "packets": ("headrace_link_packets_per_second", "Packets in both directions"), "use": ("headrace_link_use_ratio", "Share of a link's speed in use, in its busier direction"),
    "up": ("headrace_link_up", "Whether a link is up"), "speed": ("headrace_link_speed_bytes_per_second", "Speed of a link, each way"),
    "errors": ("headrace_link_errors_per_second", "Errors of a link"), "discards": ("headrace_link_discards_per_second", "Packets that a link discards"),
    "waits": ("headrace_link_waits_per_second", "Ticks in which a link could not send"), "retries": ("headrace_link_retries_per_second", "Packets sent again, or out of order"),
    "congestion": ("headrace_link_congestion_per_second", "Notices of congestion"),
}
_MACHINE = {"cpu": "headrace_host_cpu", "net": "headrace_host_network_bytes_per_second", "gpu": "headrace_host_gpu"}


_FUNCTION = (("headrace_function_calls_total", "Calls of an MPI function, of all ranks of a job", 1), ("headrace_function_bytes_total", "Bytes of messages sent in an MPI function", 1),
             ("headrace_function_seconds_total", "Time in an MPI function", 1e9))


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _labels(**values: object) -> str:
    return "{" + ",".join(f'{name}="{_label(str(value))}"' for name, value in values.items()) + "}"


def _head(name: str, kind: str, sentence: str) -> Iterable[str]:
    yield f"# HELP {name} {sentence}."
    yield f"# TYPE {name} {kind}"


def _shown(state: State) -> tuple[list[Reading], int]:
    """Returns the readings of ranks that have their own series, and the number of other ranks."""
    sizes = Counter(reading.rank.job for reading in state.sweep.readings)
    shown = [reading for reading in state.sweep.readings if sizes[reading.rank.job] <= _RANKS_OF_A_JOB][:_RANKS_MOST]
    return shown, len(state.sweep.readings) - len(shown)


def _figures(state: State, prefix: str) -> tuple[list[tuple[str, str, float]], int]:
    found = [(host, what, value) for host, figures in state.machine.items() for what, value in figures.items() if what.startswith(prefix)]
    return found[:_FIGURES_MOST], max(0, len(found) - _FIGURES_MOST)


def _of_jobs(state: State) -> Iterable[str]:
    """Sums of each job, its origin, and its functions."""
    sums: dict[str, list[int]] = {}
    origins: dict[str, tuple[str, Origin]] = {}
    for reading in state.sweep.readings:
        job = reading.rank.job
        if job not in sums and len(sums) >= _JOBS_MOST:
            continue
        sums[job] = [a + b for a, b in zip(sums.get(job, [0] * len(Brief._fields)), reading.brief)]
        origins.setdefault(job, (reading.rank.program, reading.rank.origin))
    yield from _head("headrace_job_info", "gauge", "User and batch job of a job")
    for job, (program, origin) in origins.items():
        yield f"headrace_job_info{_labels(mpi_job=job, program=program, user=origin.user, batch=origin.batch, batch_job=origin.batch_job, batch_name=origin.batch_name)} 1"
    for field, (name, kind, sentence, unit) in _BRIEF.items():
        name = name.replace("headrace_", "headrace_job_", 1)
        yield from _head(name, kind, f"{sentence}, of all ranks of a job")
        place = Brief._fields.index(field)
        for job, values in sums.items():
            yield f"{name}{_labels(mpi_job=job)} {values[place] if unit == 1 else values[place] / unit}"
    for place, (name, sentence, unit) in enumerate(_FUNCTION):
        yield from _head(name, "counter", sentence)
        for job in sums.keys() & state.functions.keys():
            for function, values in state.functions[job].items():
                yield f"{name}{_labels(mpi_job=job, function=function)} {values[place] if unit == 1 else values[place] / unit}"


def functions(sweep: Sweep) -> dict[str, dict[str, Count]]:
    """Returns the counters of each job's functions, those with most time first, and the sum of the rest as "other"."""
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


def _lines(state: State) -> Iterable[str]:
    yield from _head("headrace_ranks", "gauge", "Ranks of a job that run")
    running: dict[tuple[str, str], int] = {}
    for reading in state.sweep.readings:
        key = (reading.rank.job, reading.rank.program)
        running[key] = running.get(key, 0) + (not reading.ended)
    for (job, program), count in running.items():
        yield f"headrace_ranks{_labels(mpi_job=job, program=program)} {count}"
    yield from _of_jobs(state)
    shown, left_out = _shown(state)
    for field, (name, kind, sentence, unit) in _BRIEF.items():
        yield from _head(name, kind, sentence)
        place = Brief._fields.index(field)
        for reading in shown:
            who = reading.rank
            labels = _labels(mpi_job=who.job, program=who.program, rank=who.rank, host=who.host)
            yield f"{name}{labels} {reading.brief[place] if unit == 1 else reading.brief[place] / unit}"
    links, beyond = _figures(state, "link.")
    left_out += beyond
    for word, (name, sentence) in _LINK.items():
        yield from _head(name, "gauge", sentence)
        for host, what, value in links:
            kind, _, rest = what[5:].partition(".")
            link, _, figure = rest.rpartition(".")
            if figure == word:
                yield f"{name}{_labels(host=host, link=link, kind=kind)} {value}"
    for word, name in _MACHINE.items():
        yield from _head(name, "gauge", "Of the host; what it is stands in its labels")
        chosen, beyond = _figures(state, f"{word}.")
        left_out += beyond
        for host, what, value in chosen:
            first, _, rest = what.partition(".")
            device, _, figure = rest.rpartition(".")
            if first == word:
                yield f"{name}{_labels(host=host, device=device, figure=figure)} {value}"
    if state.sweep.reporters:
        yield from _head("headrace_reporter_up", "gauge", "Whether the collector of another host reports")
        for reporter in state.sweep.reporters:
            yield f"headrace_reporter_up{_labels(host=reporter.host, address=reporter.address)} {int(reporter.live)}"
    yield from _head("headrace_series_left_out", "gauge", "Ranks and figures of hosts that have no series of their own, as there are too many")
    yield f"headrace_series_left_out {left_out}"
    yield from _head("headrace_collector_cpu_seconds_total", "counter", "Time of a core that collecting took")
    yield f"headrace_collector_cpu_seconds_total {state.cpu_seconds}"


def _strangers(door: Door) -> Iterable[str]:
    yield from _head("headrace_page_dropped_total", "counter", "Connections to the page that were ended or not understood")
    for why, count in (("crowd", door.dropped), ("late", door.late), ("malformed", door.malformed)):
        yield f"headrace_page_dropped_total{_labels(why=why)} {count}"


def text(state: State, door: Door | None = None) -> str:
    return "\n".join([*_lines(state), *(_strangers(door) if door else ())]) + "\n"
