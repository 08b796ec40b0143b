"""`headrace monitor --report-to`: sends this host's readings to a monitor on another host.

It reads the pages about once a second, when the monitor requests a report, and continues without a connection, so that
the last figures of ranks that end in the meantime are sent later. It tries to reconnect at growing intervals, up to
half a minute.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable

from headrace.monitor import clock
from headrace.monitor.collector import Collector
from headrace.monitor.hosts.channel import Channel, Refused, WrongSecret, connect
from headrace.monitor.hosts.message import Report, pack
from headrace.monitor.model import TEXT_MOST, Reading
from headrace.monitor.stacks import Part, read

_ENDED_MOST = 20_000  # limit of ended ranks kept for an unreachable monitor
_AGAIN = (1.0, 30.0)  # seconds between two tries
_WAIT = (0.1, 5.0)  # range of periods that a monitor may request


def place() -> str:
    """Identifies this host, or this container."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        return f"{platform.node()} {boot} {os.readlink('/proc/self/ns/pid')} {os.getuid()}"
    except OSError:
        return platform.node()


def parts_of(address: str) -> tuple[str, int]:
    """Parses HOST:PORT, [ADDRESS]:PORT. Raises ValueError."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError(f"{address!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


class Reporter:
    def __init__(self, collector: Collector, address: tuple[str, int], secret: bytes, say: Callable[[str], None], everyone: bool = False):
        """`collector`: without a history, and its thread not started. `everyone`: stacks may be those of other users' jobs."""
        self.collector, self.address, self.secret, self.say = collector, address, secret, say
        self.stop, self.everyone = threading.Event(), everyone
        self._stacks: tuple[int, Part] | None = None  # read, and not sent yet
        self._examined = 0  # number of the last request for stacks
        self._examiner: threading.Thread | None = None
        self._outbox: dict[tuple[str, int], Reading] = {}
        self._channel: Channel | None = None
        self._again, self._delay = 0.0, _AGAIN[0]
        self._lost = self._was_connected = False

    def run(self) -> None:
        """Runs until `stop` is set. Raises WrongSecret."""
        try:
            while not self.stop.is_set():
                self._look()
                self.stop.wait(self._exchange())
        finally:
            self._end()

    def _look(self) -> None:
        try:
            self.collector.round()
        except Exception as error:  # continues with the next readings
            self.say(f"could not look at this host's jobs ({type(error).__name__}: {error}); it is tried again")
        now = {(reading.rank.job, reading.rank.rank): reading for reading in self.collector.state.sweep.readings}
        for key, before in self._outbox.items():
            after = now.get(key)
            if after is None:
                if before.ended:
                    now[key] = before
            elif after.details is None and before.details is not None:
                after.details, after.marks = before.details, before.marks
        for key in [key for key, reading in now.items() if reading.ended][:max(0, len(now) - _ENDED_MOST)]:
            del now[key]
        self._outbox = now

    def _report(self, last: bool = False) -> Report:
        state = self.collector.state
        machine = next(iter(state.machine.values()), {})
        return Report(place(), platform.node(), clock.now(), list(self._outbox.values()), machine, state.remarks[:8], last, self._stacks)

    def _exchange(self) -> float:
        """Sends the readings. Returns the seconds until the next reading."""
        try:
            if self._channel is None and not self._connected():
                return self.collector.period
            report = self._report()
            self._channel.send(pack(report))
            said = self._channel.receive()
            if self._stacks is report.stacks:
                self._stacks = None
        except (OSError, Refused) as error:
            if isinstance(error, WrongSecret) and not self._was_connected:
                raise
            self._drop(error)
            return self.collector.period
        self._forget_sent()
        return self._asked(said)

    def _forget_sent(self) -> None:
        there = {(reading.rank.job, reading.rank.rank) for reading in self.collector.state.sweep.readings}
        self._outbox = {key: reading for key, reading in self._outbox.items() if key in there}
        for reading in self._outbox.values():
            reading.details, reading.marks = None, ()

    def _asked(self, said: object) -> float:
        wanted = said if isinstance(said, dict) else {}
        self._examine(wanted.get("stacks"))
        numbers = [value if isinstance(value := wanted.get(name), (int, float)) else 1.0 for name in ("wait", "details")]
        self.collector.details_least = min(60.0, max(0.0, numbers[1]))
        return min(_WAIT[1], max(_WAIT[0], numbers[0]))

    def _examine(self, asked: object) -> None:
        """Reads the stacks of a job in a thread of its own, since the monitor must hear from this host meanwhile. A request that comes while another
        one is carried out is left to the monitor's limit of time."""
        if not isinstance(asked, dict) or type(number := asked.get("number")) is not int or not isinstance(job := asked.get("job"), str) or len(job) > TEXT_MOST:
            return
        if number == self._examined or self._examiner and self._examiner.is_alive():
            return

        def examine() -> None:
            try:
                part = read(job, self.everyone, self.stop)
            except Exception as error:  # the collector continues; the page shows the error
                part = Part(problem=f"its stacks could not be read ({type(error).__name__}: {error})"[:300])
            self._stacks = (number, part)
        self._examined = number
        self._examiner = threading.Thread(target=examine, name="headrace-stacks", daemon=True)
        self._examiner.start()

    def _connected(self) -> bool:
        if time.monotonic() < self._again:
            return False
        host, port = self.address
        self._channel = connect(host, port, self.secret)
        self.say(f"reports to {host}, port {port}")
        self._delay, self._lost, self._was_connected = _AGAIN[0], False, True
        return True

    def _drop(self, error: Exception) -> None:
        if self._channel:
            self._channel.close()
            self._channel = None
        if not self._lost:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self.say(f"no connection to {self.address[0]}, port {self.address[1]}: {why}; it is tried again, and nothing is lost of ranks that run")
        self._lost = True
        self._again = time.monotonic() + self._delay
        self._delay = min(_AGAIN[1], 2 * self._delay)

    def _end(self) -> None:
        if self._channel is None:
            return
        try:
            self._channel.send(pack(self._report(last=True)), 2.0)
            self._channel.receive(2.0)
        except (OSError, Refused):
            pass
        self._channel.close()
