"""Runs the web server until it is told to stop."""

from __future__ import annotations

import contextlib
import errno
import secrets
import signal
import socket
from collections.abc import Callable

import uvicorn

from headrace.monitor.answers import Place
from headrace.monitor.auth import Gate
from headrace.monitor.server import application


class Refused(Exception):
    """Why it cannot listen: one sentence."""


def listen(address: str, port: int) -> socket.socket:
    """Raises Refused."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(place)
        found.listen(64)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Refused(f"port {port} of {address} is taken, perhaps by another headrace monitor; --port names another, 0 any free one") from None
        raise Refused(f"cannot listen on {address}, port {port}: {error.strerror or error}") from None
    return found


class _Server(uvicorn.Server):
    """Tells the event streams to end, so that a stop does not wait for browsers."""

    def handle_exit(self, sig: int, frame: object) -> None:
        self.config.app.state.closing = True
        super().handle_exit(sig, frame)

    @contextlib.contextmanager
    def capture_signals(self):
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def serve(place: Place, listener: socket.socket, token: str | None, started: Callable[[str, str], None]) -> None:
    """`started` is told the address to open, and the token."""
    token = token or secrets.token_urlsafe(18)
    host, port = listener.getsockname()[:2]
    gate = Gate(token, port, frozenset({host, socket.gethostname().lower(), socket.getfqdn().lower()}) if not host.startswith("127.") else frozenset())
    app = application(place, gate)
    shown = f"[{host}]" if ":" in host else host
    started(f"http://{shown}:{port}/?token={token}", token)
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=2, lifespan="off")
    _Server(config).run(sockets=[listener])
