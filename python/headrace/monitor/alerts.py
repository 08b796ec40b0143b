"""Alerts by rules: `headrace monitor --alerts FILE`, a JSON file such as

    {"rules": [{"name": "waiting", "when": "rank.wait", "above": 0.9, "for": 60},
               {"name": "bad link", "when": "link.errors", "above": 0}],
     "command": ["/home/me/bin/tell"], "webhook": "https://example.org/hook"}

A rule applies to a subject (a rank, a link, a GPU, a job, a host) when its figure is above the limit for that many seconds. An alert is
delivered once when the rule begins to hold, and once when it no longer holds. A separate thread makes the deliveries, so that a slow
command or server does not delay a reading; deliveries that do not fit into its queue are counted, and shown on the page. """

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headrace import own_files
from headrace.monitor.metrics import reports
from headrace.monitor.model import Reading, Sweep, clean

_RULES_MOST = 64
_SUBJECTS_MOST = 2000  # limit of the subjects for which rules hold at the same time
_QUEUE_MOST = 200
_SECONDS = 20.0  # time limit of a command or a web hook
_SHOWN = 4

Machine = dict[str, dict[str, float]]


class Wrong(Exception):
    """One sentence: what is wrong with the file of rules."""


@dataclass(frozen=True)
class Rule:
    name: str
    when: str
    above: float
    seconds: float = 0.0


@dataclass
class Rules:
    rules: list[Rule] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    webhook: str = ""


# Figures that rules can name, and the words for them: those of ranks, jobs and host.silent are from the sweep, the others are figures of hosts.
_WORDS = {
    "rank.wait": "waits {:.0%} of its time", "rank.died": "has ended without MPI_Finalize", "job.reports": "has {:.0f} reports of the checker", "job.idle": "has made no progress for {:.0f} s", "host.silent": "has been silent for {:.0f} s",
    "host.cpu": "keeps its cores busy {:.0%} of the time", "host.memory": "has {:.0%} of its memory in use", "link.errors": "has {:.3g} errors a second", "link.discards": "discards {:.3g} packets a second",
    "link.use": "is in use by {:.0%}", "link.down": "is down", "gpu.busy": "is busy {:.0%} of the time", "gpu.memory": "has {:.0%} of its memory in use",
    "gpu.throttled": "is throttled",
}


def _number(value: object, what: str, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value < 1e18:
        raise Wrong(f"{what} is a number from {least:g}, not {str(value)[:40]!r}")
    return float(value)


def _rule(said: object, number: int) -> Rule:
    what = f"rule {number}"
    if not isinstance(said, dict) or not said.keys() <= {"name", "when", "above", "for"}:
        raise Wrong(f"{what} is an object with name, when, above, for")
    when = said.get("when")
    if when not in _WORDS:
        raise Wrong(f"{what}: when is one of {', '.join(_WORDS)}, not {str(when)[:40]!r}")
    return Rule(clean(str(said.get("name") or when)), when, _number(said.get("above", 0), f"{what}: above", 0), _number(said.get("for", 0), f"{what}: for", 0))


def read(path: Path) -> Rules:
    """Reads a file of rules, which this user must own and no other user may change: it names a command. Raises Wrong, OSError."""
    file = own_files.open_regular(path, own_files.SMALL, owners=(os.geteuid(),))
    with open(file, "rb") as opened:
        if os.fstat(file).st_mode & 0o022:
            raise Wrong(f"{path}: others can change this file; chmod go-w")
        try:
            said = json.loads(opened.read(own_files.SMALL))
        except (ValueError, RecursionError) as error:
            raise Wrong(f"{path} is not JSON: {error}") from None
    try:
        return _rules(said)
    except Wrong as wrong:
        raise Wrong(f"{path}: {wrong}") from None


def _rules(said: object) -> Rules:
    if not isinstance(said, dict) or not said.keys() <= {"rules", "command", "webhook"}:
        raise Wrong("it is an object with rules, command, webhook")
    rules, command, webhook = said.get("rules"), said.get("command", []), said.get("webhook", "")
    if not isinstance(rules, list) or not 0 < len(rules) <= _RULES_MOST:
        raise Wrong(f"rules is a list of 1 to {_RULES_MOST} rules")
    if not isinstance(command, list) or not all(isinstance(word, str) and word and "\0" not in word for word in command):
        raise Wrong('command is a list of words: ["mail", "-s", "headrace", "me"]')
    if not isinstance(webhook, str) or webhook and not webhook.startswith(("http://", "https://")):
        raise Wrong("webhook is an address that begins with http:// or https://")
    return Rules([_rule(rule, number) for number, rule in enumerate(rules, 1)], command, webhook)


class _Straight(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def deliver(rules: Rules, event: dict) -> str:
    """Runs the command, with the event as JSON on its standard input, and posts the event to the webhook. Returns what went wrong."""
    data = json.dumps(event).encode()
    problems = []
    if rules.command:
        try:
            done = subprocess.run(rules.command, input=data, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_SECONDS, check=False,
                                  env={**os.environ, "HEADRACE_ALERT": event["text"]})
            if done.returncode:
                problems.append(f"{rules.command[0]} ended with {done.returncode}")
        except (OSError, subprocess.SubprocessError) as error:
            problems.append(f"{rules.command[0]}: {type(error).__name__}: {error}"[:200])
    if rules.webhook:
        request = urllib.request.Request(rules.webhook, data, {"Content-Type": "application/json"})
        try:
            urllib.request.build_opener(_Straight).open(request, timeout=_SECONDS).close()
        except (OSError, ValueError) as error:
            problems.append(f"web hook: {error}"[:200])
    return "; ".join(problems)


class Alerts:
    """Owner: the collector, whose thread calls look()."""

    def __init__(self, rules: Rules, deliver: Callable[[Rules, dict], str] = deliver):
        self.rules, self._deliver = rules, deliver
        self.trouble = ""  # error of the last delivery
        self._lost = 0
        self._since: dict[tuple[int, str], float] = {}
        self._told: dict[tuple[int, str], str] = {}
        self._before: dict[tuple[str, int], tuple[float, int]] = {}
        self._progress: dict[str, tuple[int, float]] = {}
        self._reports: dict[str, int] = {}
        self._queue: queue.Queue[dict] = queue.Queue(_QUEUE_MOST)
        self._thread = threading.Thread(target=self._run, name="headrace-alerts", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            event = self._queue.get()
            try:
                self.trouble = self._deliver(self.rules, event)
            except Exception as error:  # continues, as the next event may be delivered
                self.trouble = f"{type(error).__name__}: {error}"[:200]
            self._queue.task_done()

    def remarks(self) -> list[str]:
        said = [f"alert: {text}" for text in list(self._told.values())[:_SHOWN]]
        if len(self._told) > _SHOWN:
            said.append(f"alert: and {len(self._told) - _SHOWN} more")
        if self.trouble:
            said.append(f"the last alert could not be delivered: {self.trouble}")
        return said + ([f"{self._lost} alerts were not delivered, as there were too many"] if self._lost else [])

    def look(self, sweep: Sweep, machine: Machine) -> None:
        now = sweep.time
        wanted = {rule.when for rule in self.rules.rules}
        figures: dict[str, list[tuple[str, float]]] = {when: [] for when in wanted}
        for when, subject, value in self._figures(sweep, machine, wanted):
            figures[when].append((subject, value))
        there = set()
        for number, rule in enumerate(self.rules.rules):
            for subject, value in figures[rule.when]:
                key = (number, subject)
                if value <= rule.above or len(there) >= _SUBJECTS_MOST:
                    continue
                there.add(key)
                since = self._since.setdefault(key, now)
                if now - since >= rule.seconds and key not in self._told:
                    self._told[key] = f"{rule.name}: {subject} {_WORDS[rule.when].format(value)}"
                    self._tell(rule, subject, value, "begins", self._told[key], now)
        for key in [key for key in self._since if key not in there]:
            del self._since[key]
            if text := self._told.pop(key, ""):
                self._tell(self.rules.rules[key[0]], key[1], None, "ends", text, now)

    def _tell(self, rule: Rule, subject: str, value: float | None, state: str, text: str, now: float) -> None:
        try:
            self._queue.put_nowait({"rule": rule.name, "when": rule.when, "above": rule.above, "subject": subject, "value": value, "state": state,
                                    "text": text if state == "begins" else f"over: {text}", "time": now})
        except queue.Full:
            self._lost += 1

    def _figures(self, sweep: Sweep, machine: Machine, wanted: set[str]) -> Iterator[tuple[str, str, float]]:
        if wanted & {"rank.wait", "job.idle"}:
            yield from ((when, subject, value) for when, subject, value in self._of_ranks(sweep) if when in wanted)
        if "rank.died" in wanted:
            yield from (("rank.died", f"rank {reading.rank.rank} of job {reading.rank.job}", 1.0) for reading in sweep.readings if reading.died)
        if "job.reports" in wanted:
            yield from (("job.reports", f"job {job}", float(count)) for job, count in self._reports_of(sweep).items())
        if "host.silent" in wanted:
            yield from (("host.silent", f"host {each.host}", max(1e-3, sweep.time - each.since)) for each in sweep.reporters if not each.live)
        for host, figures in machine.items():
            for what, value in figures.items():
                first, _, rest = what.partition(".")
                device, _, figure = rest.rpartition(".")
                if what == "cpu.busy" and "host.cpu" in wanted:
                    yield "host.cpu", f"host {host}", value
                elif what == "memory.used" and "host.memory" in wanted:
                    yield "host.memory", f"host {host}", value
                elif first == "link" and figure == "up" and "link.down" in wanted:
                    yield "link.down", f"link {device.partition('.')[2]} of {host}", 1.0 - value
                elif first in ("link", "gpu") and f"{first}.{figure}" in wanted:
                    yield f"{first}.{figure}", f"{'link' if first == 'link' else 'GPU'} {device.partition('.')[2] if first == 'link' else device} of {host}", value

    def _reports_of(self, sweep: Sweep) -> dict[str, int]:
        """Returns the number of the checker's reports by job, as last read."""
        there = {reading.rank.job for reading in sweep.readings}
        if any(reading.details is not None for reading in sweep.readings):
            self._reports = reports(sweep)
        self._reports = {job: count for job, count in self._reports.items() if job in there}
        return self._reports

    def _of_ranks(self, sweep: Sweep) -> Iterator[tuple[str, str, float]]:
        before, self._before = self._before, {}
        work: dict[str, int] = {}
        for reading in sweep.readings:
            if reading.ended:
                continue
            key = (reading.rank.job, reading.rank.rank)
            then, wait = before.get(key, (sweep.time, reading.brief.wait_ns))
            self._before[key] = (sweep.time, reading.brief.wait_ns)
            work[reading.rank.job] = work.get(reading.rank.job, 0) + _work(reading)
            if sweep.time > then:
                yield "rank.wait", f"rank {key[1]} of job {key[0]}", min(1.0, max(0.0, (reading.brief.wait_ns - wait) / 1e9 / (sweep.time - then)))
        progress, self._progress = self._progress, {}
        for job, done in work.items():
            known, since = progress.get(job, (done, sweep.time))
            self._progress[job] = (done, since if known == done else sweep.time)
            if known == done:
                yield "job.idle", f"job {job}", sweep.time - since


def _work(reading: Reading) -> int:
    """Returns a number that changes when a rank calls an MPI function, sends or receives."""
    return reading.brief.calls + reading.brief.sent + reading.brief.received
