"""A source that combines the reports of other hosts' collectors with this host's pages.

One thread accepts connections, and each connection gets its own thread once it has proven the secret. If too many
connections have not, the oldest of these is dropped, so that a collector that knows the secret is always served. The
last report of a host is kept; figures of a host that has not reported recently are omitted, and its jobs are listed as
unseen, so that they do not count as ended. A lost host is shown for a while, and is recognised when it reconnects.

Owner: the command. Threads: sweep() is called by the collector's; the rest is guarded by `_lock`.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from headrace.monitor import clock
from headrace.monitor.auth import Slower
from headrace.monitor.collector import Collector
from headrace.monitor.hosts.channel import Channel, Greeting, Refused, WrongSecret
from headrace.monitor.hosts.message import Report, Wrong, unpack
from headrace.monitor.limits import Seldom
from headrace.monitor.model import Reading, Reporter, Sweep
from headrace.monitor.source import Source
from headrace.monitor.stacks import Part

_FRESH = 1.25  # age in periods beyond which a report is omitted from a sweep
_LOST_SECONDS = 10.0  # seconds without a report after which a host counts as lost
_FORGET_SECONDS = 900.0  # seconds after which a lost host's jobs count as ended
_CONNECTIONS_MOST = 1024
_STRANGERS_MOST = 256  # limit of connections that have not proven the secret yet
_REFUSED_MOST = 64  # limit of connections that have sent a wrong proof, and wait for the answer
_CLOSED_SECONDS = 0.3  # seconds after which the end of the monitor is noticed
_AHEAD = 0.3  # fraction of a period: time before the collector's round at which reports are requested
_CLOCK = 0.5  # seconds by which another host's clock may be off before its times are corrected


@dataclass
class _Host:
    name: str
    address: str
    channel: Channel | None  # None if the host is lost, or its collector has ended
    since: float
    heard: float = 0.0  # monotonic
    why: str = ""
    readings: dict[tuple[str, int], Reading] = field(default_factory=dict)
    finals: set[tuple[str, int]] = field(default_factory=set)  # ranks that have ended, and are not in its newest report
    machine: dict[str, float] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    asked: dict | None = None  # a request for stacks, until it is answered
    told: tuple[int, Part] | None = None  # the last answer

    def running(self) -> int:
        return sum(not reading.ended for reading in self.readings.values())


def _corrected(reading: Reading, by: float) -> Reading:
    rank = replace(reading.rank, began=reading.rank.began + by)
    return replace(reading, rank=rank, marks=tuple(mark._replace(time=mark.time + by) for mark in reading.marks))


def _address(connection: socket.socket) -> str:
    try:
        return connection.getpeername()[0]
    except OSError:
        return "an address that is gone"


class Gather:
    def __init__(self, own: Source, listener: socket.socket, secret: bytes, say: Callable[[str], None]):
        self.own, self._listener, self._secret, self._say = own, listener, secret, say
        self.collector: Collector | None = None  # reports are requested in time for its rounds
        self._lock = threading.Lock()
        self._answered = threading.Condition(self._lock)
        self._requests = 0
        self._hosts: dict[str, _Host] = {}
        self._slower = Slower()
        self._wrong = Seldom(say)
        self._misunderstood = Seldom(say)
        self._strangers: dict[socket.socket, Greeting] = {}  # used only by the thread that accepts connections, like the next member
        self._refused: dict[socket.socket, float] = {}  # until when
        self._closing = False
        self._open: set[socket.socket] = set()

    def start(self) -> None:
        threading.Thread(target=self._take, name="headrace-reports", daemon=True).start()

    def close(self) -> None:
        self._closing = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self.own.close()

    # --- connections ---
    def _take(self) -> None:
        with selectors.DefaultSelector() as waiting:
            self._listener.setblocking(False)
            waiting.register(self._listener, selectors.EVENT_READ)
            try:
                while not self._closing:
                    for key, _ in waiting.select(_CLOSED_SECONDS):
                        if key.fileobj is self._listener:
                            self._greet(waiting)
                        elif key.fileobj in self._strangers:
                            self._hear(key.fileobj, waiting)
                    self._drop_late(waiting)
            finally:
                for connection in [*self._strangers, *self._refused]:
                    connection.close()

    def _greet(self, waiting: selectors.BaseSelector) -> None:
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # gone again
        except OSError:
            if self._strangers:  # there are no descriptors left
                self._forget_stranger(next(iter(self._strangers)), waiting).close()
            elif not self._closing:
                time.sleep(0.05)
            return
        try:
            self._strangers[connection] = Greeting(connection, self._secret)
        except OSError:
            connection.close()
            return
        waiting.register(connection, selectors.EVENT_READ)
        if len(self._strangers) > _STRANGERS_MOST:
            self._forget_stranger(next(iter(self._strangers)), waiting).close()

    def _forget_stranger(self, connection: socket.socket, waiting: selectors.BaseSelector) -> socket.socket:
        del self._strangers[connection]
        waiting.unregister(connection)
        return connection

    def _hear(self, connection: socket.socket, waiting: selectors.BaseSelector) -> None:
        try:
            channel = self._strangers[connection].take()
        except WrongSecret:
            self._refuse(self._forget_stranger(connection, waiting))
            return
        except (Refused, OSError):
            self._forget_stranger(connection, waiting).close()
            return
        if channel is None:
            return
        self._forget_stranger(connection, waiting)
        with self._lock:
            full = len(self._open) >= _CONNECTIONS_MOST
            if not full:
                self._open.add(connection)
        if full:
            connection.close()
            return
        try:
            threading.Thread(target=self._serve, args=(connection, channel), name="headrace-report", daemon=True).start()
        except RuntimeError:  # the system has no more threads
            with self._lock:
                self._open.discard(connection)
            connection.close()

    def _refuse(self, connection: socket.socket) -> None:
        """Answers, after a delay, that the secret is wrong."""
        self._refused[connection] = time.monotonic() + self._slower.wrong()
        self._wrong(f"somebody at {_address(connection)} wanted to report and does not know the secret; refused")
        if len(self._refused) > _REFUSED_MOST:
            first = next(iter(self._refused))
            del self._refused[first]
            first.close()

    def _drop_late(self, waiting: selectors.BaseSelector) -> None:
        now = time.monotonic()
        for connection in [each for each, greeting in self._strangers.items() if greeting.until < now]:
            self._forget_stranger(connection, waiting).close()
        for connection in [each for each, until in self._refused.items() if until < now]:
            del self._refused[connection]
            connection.close()

    def _serve(self, connection: socket.socket, channel: Channel) -> None:
        try:
            with connection:
                self._listen(channel, _address(connection))
        finally:
            with self._lock:
                self._open.discard(connection)

    def _listen(self, channel: Channel, address: str) -> None:
        host, why = None, ""
        try:
            while not self._closing:
                report = unpack(channel.receive(_LOST_SECONDS))
                host = self._keep(report, channel, address)
                channel.send({"wait": self._wait(), "details": self.collector.details_seconds if self.collector else 1.0, **({"stacks": host.asked} if host.asked else {})})
                if report.last:
                    break
        except Refused as refused:
            why = str(refused)
        except Wrong as wrong:
            why = f"its report has {wrong}"
        except OSError as error:
            why = error.strerror or str(error)
        if host:
            self._lose(host, channel, why)
        elif why and not self._closing:
            self._misunderstood(f"a collector at {address} was not understood: {why}")

    def _wait(self) -> float:
        """Returns the seconds until that host's next reading, in time for a round of the collector at least half a period away."""
        if not self.collector or not self.collector.due:
            return self.collector.period if self.collector else 1.0
        period = self.collector.period
        wait = self.collector.due - _AHEAD * period - time.monotonic()
        while wait < 0.5 * period:
            wait += period
        return round(wait, 4)

    def _keep(self, report: Report, channel: Channel, address: str) -> _Host:
        off = clock.now() - report.time
        readings = [_corrected(reading, off) for reading in report.readings] if abs(off) > _CLOCK else report.readings
        with self._lock:
            host = self._hosts.get(report.place)
            if host is None or host.channel is not channel:
                if host and host.channel:
                    host.channel.cut()  # a half-open connection, or a second collector on the same host
                since = clock.now()
                before = host
                host = self._hosts[report.place] = _Host(report.host, address, channel, since)
                if before:
                    host.readings = before.readings
                self._say(f"{report.host} ({address}) reports")
            self._merge(host, readings)
            host.heard, host.machine, host.remarks = time.monotonic(), report.machine, report.remarks
            if report.stacks and host.asked and report.stacks[0] == host.asked["number"]:
                host.asked, host.told = None, report.stacks
                self._answered.notify_all()
        return host

    @staticmethod
    def _merge(host: _Host, readings: list[Reading]) -> None:
        """Merges a report: details stay until newer ones arrive; a rank that has ended stays until the collector has
        read its last details."""
        now = {(reading.rank.job, reading.rank.rank): reading for reading in readings}
        for key, before in host.readings.items():
            after = now.get(key)
            if after is None:
                if before.ended and before.details is not None and key not in host.finals:
                    now[key] = before
            elif after.details is None:
                after.details, after.marks = before.details, before.marks
        host.readings = now

    def _lose(self, host: _Host, channel: Channel, why: str) -> None:
        with self._lock:
            if host.channel is not channel:
                return  # another connection of the host has taken over
            host.channel, host.since, host.why = None, clock.now(), why
            if not why:  # the host itself has announced its end
                host.readings = {key: reading for key, reading in host.readings.items() if reading.ended}
        if why and not self._closing:
            self._say(f"the collector on {host.name} ({host.address}) is lost: {why}; its figures are those of then")

    # --- stacks ---
    def ask(self, job: str) -> dict[str, int]:
        with self._lock:
            self._requests += 1
            found = {}
            for place, host in self._hosts.items():
                if host.channel and any(reading.rank.job == job and not reading.ended for reading in host.readings.values()):
                    host.asked, host.told = {"job": job, "number": self._requests}, None
                    found[place] = self._requests
        return found

    def told(self, asked: dict[str, int], seconds: float, stop: threading.Event | None) -> dict[str, Part]:
        end, found = time.monotonic() + seconds, {}
        with self._lock:
            for place, number in asked.items():
                host = self._hosts.get(place)
                while host and host.channel and (waits := host.asked and host.asked["number"] == number) and time.monotonic() < end and not (stop and stop.is_set()):
                    self._answered.wait(_CLOSED_SECONDS)
                    host = self._hosts.get(place)  # another one if the collector has connected again
                if host and host.told and host.told[0] == number:
                    found[host.name], host.told = host.told[1], None
                elif host and host.channel and waits:
                    found[host.name], host.asked = Part(problem="its collector has not answered; it may be of an older version"), None
                else:
                    found[host.name if host else place] = Part(problem="its collector is lost")
        return found

    # --- the source ---
    def sweep(self, details: bool) -> Sweep:
        found = self.own.sweep(details)
        there = {(reading.rank.job, reading.rank.rank): reading.rank.host for reading in found.readings}
        unseen: set[str] = set()
        now, period = time.monotonic(), self.collector.period if self.collector else 1.0
        with self._lock:
            for host in self._hosts.values():
                fresh = host.channel is not None and now - host.heard < _FRESH * period
                self._add(found, host, there, unseen, fresh, details)
                if host.channel or host.why:
                    found.reporters.append(Reporter(host.name, host.address, host.channel is not None, host.since, host.running(), host.why))
                if host.why:
                    found.remarks.append(f"the collector on {host.name} ({host.address}) is lost: {host.why}; its figures are those of then")
            self._forget(now, details)
        found.unseen = frozenset(unseen)
        return found

    @staticmethod
    def _add(found: Sweep, host: _Host, there: dict[tuple[str, int], str], unseen: set[str], fresh: bool, details: bool) -> None:
        """Adds a host's ranks. A rank seen before on the same host is the same rank; on another host, it belongs to a different job
        of the same name."""
        others = {key[0] for key, reading in host.readings.items() if there.get(key, reading.rank.host) != reading.rank.host}
        for key, reading in host.readings.items():
            if reading.rank.job in others:
                reading = replace(reading, rank=replace(reading.rank, job=f"{reading.rank.job}@{host.name}"[:120]))
            elif key in there:
                continue
            if not fresh and not reading.ended:
                unseen.add(reading.rank.job)
                continue
            there[key] = reading.rank.host
            found.readings.append(reading if details else replace(reading, details=None, marks=()))
            if details and reading.ended:
                host.finals.add(key)
        host.finals &= host.readings.keys()
        if fresh:
            found.machine.setdefault(host.name, host.machine)
            found.remarks += [f"{host.name}: {remark}" for remark in host.remarks]

    def _forget(self, now: float, details: bool) -> None:
        """Forgets hosts whose collectors have ended normally once their last figures have been read, and lost hosts after a
        while."""
        for place, host in list(self._hosts.items()):
            if host.channel is None and (details if not host.why else now - host.heard > _FORGET_SECONDS):
                del self._hosts[place]
