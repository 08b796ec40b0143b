"""The thread that reads all pages of this host once a second, or as often as is asked for, and stores their figures.

Reading every counter takes longer than reading the sums, so it is done as often as a fixed share of one core permits, between once a second (or
once in a shorter period) and once in half a minute. Times are those of a clock that does not jump (clock.py).
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from dataclasses import dataclass, field

from headrace.monitor import clock
from headrace.monitor.alerts import Alerts
from headrace.monitor.history import History
from headrace.monitor.host import Host
from headrace.monitor.limits import Seldom
from headrace.monitor.durations import Classes
from headrace.monitor.metrics import buffers, functions, lengths, reports
from headrace.monitor.model import Count, Sweep
from headrace.monitor.otlp import Sender
from headrace.monitor.running_totals import Published, RunningTotals
from headrace.monitor.source import Source

_DETAILS_SHARE = 0.015  # share of a core for counters by name and peer
_DETAILS_SECONDS = (0.9, 30.0)
_TIDY_SECONDS = 10.0
_LOOK_SHARE = 0.04  # share of a core for reading and writing; a large cluster is read less often
_PERIOD_MOST = 30.0
_MACHINE_ROWS = 2000  # host figures stored per second; those of a large cluster are stored less often
_MACHINE_SECONDS = 1.0  # resolution of host figures in the history
_LATE = 1.5  # periods, asked for and shorter than a second, beyond which the page says that figures come less often


@dataclass
class State:
    """Results of the last round. Replaced as a whole, so that readers need no lock."""

    round: int = 0
    time: float = 0.0
    details_round: int = 0
    sweep: Sweep = field(default_factory=lambda: Sweep(0.0))
    machine: dict[str, dict[str, float]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    cpu_seconds: float = 0.0  # CPU time of the thread since its start
    functions: dict[str, dict[str, Count]] = field(default_factory=dict)  # functions of each job, from the last round with details
    durations: dict[str, dict[str, Classes]] = field(default_factory=dict)  # how long their calls took, likewise
    reports: dict[str, int] = field(default_factory=dict)  # number of the checker's reports by job, likewise
    totals: Published = field(default_factory=Published)  # functions by node and over the cluster, likewise
    buffers: dict[str, dict[str, int]] = field(default_factory=dict)  # bytes of communication buffers of each job, likewise


class Collector:
    def __init__(self, source: Source, history: History | None, host: Host | None = None, period: float = 1.0, alerts: Alerts | None = None):
        self.source, self.history, self.host, self.period = source, history, host, period
        self.state, self.alerts = State(), alerts
        self.sender: Sender | None = None  # sends metrics
        self.changed = threading.Condition()
        self._stop = threading.Event()
        self._failed = Seldom(lambda text: print(text, file=sys.stderr, flush=True))
        self._least = period
        self._machine_due = 0.0
        self.due = 0.0  # when the next round begins, by time.monotonic()
        self.details_least = 0.0  # minimum requested by the monitor that stores the details
        self.details_seconds = _DETAILS_SECONDS[0]  # time between two readings of all counters
        self._details_due = 0.0
        self._tidy_due = 0.0
        self._totals = RunningTotals()
        self._ended: set[tuple[str, int]] = set()
        self._thread = threading.Thread(target=self._run, name="headrace-collector", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def alive(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        begin = time.monotonic()
        while not self._stop.is_set():
            try:
                self.round()
            except Exception as error:  # the jobs and the web page continue; the page shows the error
                self._failed(traceback.format_exc().rstrip())
                self._publish(State(self.state.round + 1, self.state.time, self.state.details_round, self.state.sweep, self.state.machine,
                                    [f"the collector failed ({type(error).__name__}: {error}) and tries again"], time.thread_time(), *self._of_functions(None)))
            now = time.monotonic()
            begin = self.due = self._next(begin, now)
            self._stop.wait(max(0.0, begin - now))

    def _next(self, begin: float, now: float) -> float:
        """Returns when the next round begins, if the last one was due at `begin` and has ended at `now`. Rounds that were missed are not made up for: rates
        of a few milliseconds would be noise."""
        due = begin + self.period
        return due if due > now else now + self.period / 2

    def round(self) -> None:
        now = time.monotonic()
        used = time.thread_time()
        details = now >= self._details_due
        sweep = self.source.sweep(details)
        ended = {(reading.rank.job, reading.rank.rank) for reading in sweep.readings if reading.ended}
        if not details and ended - self._ended:  # these are the last figures of these ranks
            details, sweep = True, self.source.sweep(True)
        self._ended = ended
        sweep.time = sweep.time or clock.now()
        machine = {**sweep.machine, **(self.host.look() if self.host else {})}
        if self.alerts:
            self.alerts.look(sweep, machine)
        if self.history:
            kept = now >= self._machine_due
            self.history.least = self.period / 2
            self.history.write(sweep, machine if kept else {})
            if kept:
                self._machine_due = now + max(_MACHINE_SECONDS if self._least < 1 else 0.0, sum(map(len, machine.values())) / _MACHINE_ROWS) - 0.5 * self._least
            if now >= self._tidy_due:
                self.history.tidy(sweep.time)
                self._tidy_due = now + _TIDY_SECONDS
        if details:
            least, most = _DETAILS_SECONDS
            self.details_seconds = min(most, max(min(least, 0.9 * self._least), self.details_least, (time.thread_time() - used) / _DETAILS_SHARE))
            self._details_due = now + self.details_seconds
        else:
            cost = time.thread_time() - used
            self.period = min(_PERIOD_MOST, max(self._least, cost / _LOOK_SHARE))
        self._publish(State(self.state.round + 1, sweep.time, self.state.details_round + details, sweep, machine, self._remarks(sweep),
                            time.thread_time(), *self._of_functions(sweep if details else None)))

    def _of_functions(self, sweep: Sweep | None) -> tuple[dict, dict, dict, Published, dict]:
        """Returns the last five parts of a State. `sweep`: one with details; None: they are as before."""
        if sweep is None:
            return self.state.functions, self.state.durations, self.state.reports, self.state.totals, self.state.buffers
        of = functions(sweep)
        self._totals.add(sweep)
        return of, lengths(sweep, of), reports(sweep), self._totals.published(), buffers(sweep)

    def _remarks(self, sweep: Sweep) -> list[str]:
        said = [*(self.alerts.remarks() if self.alerts else []), *(self.sender.remarks() if self.sender else []), *sweep.remarks]
        if self.history:
            said += self.history.remarks + ([self.history.trouble] if self.history.trouble else [])
        if self._least < 1 and self.period > _LATE * self._least:
            said.append(f"figures come every {self.period:.1f} s, not every {self._least:g} s: reading these ranks so often would take more than {_LOOK_SHARE:.0%} of a core")
        return said + (self.host.remarks if self.host else [])

    def _publish(self, state: State) -> None:
        with self.changed:
            self.state = state
            self.changed.notify_all()
