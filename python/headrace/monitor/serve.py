"""Runs the web server until it is told to stop."""

from __future__ import annotations

import contextlib
import secrets
import signal
import socket
from collections.abc import Callable

import uvicorn

from headrace.monitor.answers import Place
from headrace.monitor.auth import Gate
from headrace.monitor.server import application


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
