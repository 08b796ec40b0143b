"""Connections to the page: limits on how long they may be silent, and on the number of connections that have not
presented the token.

A connection is a stranger until it sends a request with the token. If there are too many strangers, the oldest is dropped, so that
the next one is served; a connection that has presented the token is never dropped for a stranger. A request must be
complete within some seconds after its connection was opened or the previous request was answered. Dropped and malformed
requests are counted and not logged.

Owner: the server's loop; only its thread uses the door.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from headrace.monitor.limits import Seldom

_STRANGERS_MOST = 128
_KNOWN_MOST = 256
_REQUEST_SECONDS = 10.0
_MALFORMED = "Invalid HTTP request received."
_NOT_SAID = (_MALFORMED, "Unsupported upgrade request.", "No supported WebSocket library detected.")


class Door:
    def __init__(self) -> None:
        self.dropped = self.late = self.malformed = 0
        self._strangers: dict[Guest, None] = {}  # the oldest first
        self._known: dict[Guest, None] = {}
        self._by_address: dict[Any, Guest] = {}

    def came(self, guest: Guest) -> None:
        self._strangers[guest] = None
        self._by_address[guest.client] = guest
        if len(self._strangers) > _STRANGERS_MOST:
            self._drop(next(iter(self._strangers)))

    def left(self, guest: Guest) -> None:
        self._strangers.pop(guest, None)
        self._known.pop(guest, None)
        if self._by_address.get(guest.client) is guest:
            del self._by_address[guest.client]

    def shown(self, address: object) -> None:
        """Notes that a request with the token has arrived from this address."""
        guest = self._by_address.get(tuple(address) if isinstance(address, (tuple, list)) else address)
        if guest is None or guest in self._known:
            return
        self._strangers.pop(guest, None)
        self._known[guest] = None
        if len(self._known) > _KNOWN_MOST:
            self._drop(next((each for each in self._known if not each.asks()), guest))

    def _drop(self, guest: Guest) -> None:
        self.dropped += 1
        self.left(guest)
        guest.transport.abort()


class Guest(H11Protocol):
    """uvicorn's protocol for a connection that is registered with a door (`app.state.door`)."""

    _timer: asyncio.TimerHandle | None = None

    @property
    def door(self) -> Door:
        return self.config.app.state.door

    def asks(self) -> bool:
        """True while a complete request awaits its answer."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.door.came(self)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        self.door.left(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def send_400_response(self, msg: str) -> None:
        self.door.malformed += 1
        super().send_400_response(msg)

    def _watch(self) -> None:
        if self.asks() or self.transport.is_closing():
            self._rest()
        elif self._timer is None:
            self._timer = self.loop.call_later(_REQUEST_SECONDS, self._too_late)

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self) -> None:
        self._timer = None
        self.door.late += 1
        self.transport.abort()


class Quiet(logging.Filter):
    """Filter of a logger: drops messages that any stranger can cause, and passes others at most once a minute."""

    def __init__(self) -> None:
        super().__init__()
        self._due = False
        self._seldom = Seldom(self._say)

    def _say(self, sentence: str) -> None:
        self._due = True
        self._sentence = sentence

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if record.levelno < logging.WARNING or said.startswith(_NOT_SAID):
            return False
        self._due = False
        self._seldom(said)
        if self._due:
            record.msg, record.args = self._sentence, ()
        return self._due
