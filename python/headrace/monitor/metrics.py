"""`/metrics`: the newest figures in the text format that Prometheus reads, for jobs that are running or have just ended."""

from __future__ import annotations

from collections.abc import Iterable

from typing import TYPE_CHECKING

from headrace.monitor.collector import State
from headrace.monitor.model import Brief

if TYPE_CHECKING:  # its web server may be missing
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
_MACHINE = {"cpu": "headrace_host_cpu", "net": "headrace_host_network_bytes_per_second", "gpu": "headrace_host_gpu"}


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _labels(**values: object) -> str:
    return "{" + ",".join(f'{name}="{_label(str(value))}"' for name, value in values.items()) + "}"


def _head(name: str, kind: str, sentence: str) -> Iterable[str]:
    yield f"# HELP {name} {sentence}."
    yield f"# TYPE {name} {kind}"


def _lines(state: State) -> Iterable[str]:
    yield from _head("headrace_ranks", "gauge", "Ranks of a job that run")
    running: dict[tuple[str, str], int] = {}
    for reading in state.sweep.readings:
        key = (reading.rank.job, reading.rank.program)
        running[key] = running.get(key, 0) + (not reading.ended)
    for (job, program), count in running.items():
        yield f"headrace_ranks{_labels(mpi_job=job, program=program)} {count}"
    for field, (name, kind, sentence, unit) in _BRIEF.items():
        yield from _head(name, kind, sentence)
        place = Brief._fields.index(field)
        for reading in state.sweep.readings:
            who = reading.rank
            labels = _labels(mpi_job=who.job, program=who.program, rank=who.rank, host=who.host)
            yield f"{name}{labels} {reading.brief[place] if unit == 1 else reading.brief[place] / unit}"
    for word, name in _MACHINE.items():
        yield from _head(name, "gauge", "Of the host; what it is stands in its labels")
        for host, figures in state.machine.items():
            for what, value in figures.items():
                first, _, rest = what.partition(".")
                device, _, figure = rest.rpartition(".")
                if first == word:
                    yield f"{name}{_labels(host=host, device=device, figure=figure)} {value}"
    if state.sweep.reporters:
        yield from _head("headrace_reporter_up", "gauge", "Whether the collector of another host reports")
        for reporter in state.sweep.reporters:
            yield f"headrace_reporter_up{_labels(host=reporter.host, address=reporter.address)} {int(reporter.live)}"
    yield from _head("headrace_collector_cpu_seconds_total", "counter", "Time of a core that collecting took")
    yield f"headrace_collector_cpu_seconds_total {state.cpu_seconds}"


def _strangers(door: Door) -> Iterable[str]:
    yield from _head("headrace_page_dropped_total", "counter", "Connections to the page that were ended or not understood")
    for why, count in (("crowd", door.dropped), ("late", door.late), ("malformed", door.malformed)):
        yield f"headrace_page_dropped_total{_labels(why=why)} {count}"


def text(state: State, door: Door | None = None) -> str:
    return "\n".join([*_lines(state), *(_strangers(door) if door else ())]) + "\n"
