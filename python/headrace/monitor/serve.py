"""Runs the web server until it is told to stop."""

from __future__ import annotations

import contextlib
import logging
import secrets
import signal
import socket
import urllib.parse
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette

from headrace.monitor.answers import Place
from headrace.monitor.auth import Gate
from headrace.monitor.door import Guest, Quiet
from headrace.monitor.limits import many_descriptors
from headrace.monitor.server import application


class _Server(uvicorn.Server):
    """Ends the event streams, so that a stop does not wait for browsers."""

    def handle_exit(self, sig: int, frame: object) -> None:
        self.config.app.state.closing = True
        self.config.app.state.place.ending.set()
        super().handle_exit(sig, frame)

    @contextlib.contextmanager
    def capture_signals(self):
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def configuration(app: Starlette) -> uvicorn.Config:
    """Settings of the server for connections and logging."""
    many_descriptors()
    made = uvicorn.Config(app, http=Guest, ws="none", log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=2,
                          backlog=64, lifespan="off")
    for name in ("uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        for before in [each for each in logger.filters if isinstance(each, Quiet)]:
            logger.removeFilter(before)
        logger.addFilter(Quiet())
    return made


def serve(place: Place, listener: socket.socket, token: str | None, started: Callable[[str, str], None]) -> None:
    """`started` is called with the address to open, and the token."""
    token = token or secrets.token_urlsafe(18)
    host, port = listener.getsockname()[:2]
    gate = Gate(token, port, frozenset({host, socket.gethostname().lower(), socket.getfqdn().lower()}) if not host.startswith("127.") else frozenset())
    app = application(place, gate)
    shown = f"[{host}]" if ":" in host else host
    started(f"http://{shown}:{port}/?token={urllib.parse.quote(token, safe='')}", token)
    _Server(configuration(app)).run(sockets=[listener])
