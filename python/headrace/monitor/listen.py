"""Opens a listening socket, or states in one sentence why it cannot be opened."""

from __future__ import annotations

import errno
import socket


class Refused(Exception):
    """One sentence: why no listening socket could be opened."""


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
