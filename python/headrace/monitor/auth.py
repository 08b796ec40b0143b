"""Grants access to holders of the token. It is passed once in the address, then as a cookie, or as a program's bearer token.

Comparison takes constant time for any token; each further wrong token is answered later, up to a limit. The host name
that the browser uses for this server must be one of the server's own, so that a page of another site cannot reach it by
DNS rebinding.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import threading
import time

_SLOWEST = 5.0  # seconds
_WAITING_MOST = 256
_FORGET = 300.0  # seconds without a wrong token after which earlier ones are forgotten


class Slower:
    """Delay before a wrong secret is answered. Thread-safe."""

    def __init__(self) -> None:
        self.count = 0
        self._last = 0.0
        self._lock = threading.Lock()

    def wrong(self) -> float:
        """Counts a wrong secret; returns the delay in seconds."""
        with self._lock:
            now = time.monotonic()
            self.count = 1 if now - self._last > _FORGET else self.count + 1
            self._last = now
            return self.delay()

    def delay(self) -> float:
        return min(_SLOWEST, 0.1 * 2 ** min(10, self.count - 1)) if self.count else 0.0


class Gate:
    def __init__(self, token: str, port: int, names: frozenset[str] = frozenset()):
        """`names`: names that browsers may use for this host, besides loopback addresses."""
        self._token = token.encode()
        self.cookie = f"headrace_{port}"
        self._names = names | {"localhost"}
        self.slower = Slower()
        self._waiting = 0

    def right(self, said: str | None) -> bool:
        return said is not None and hmac.compare_digest(said.encode(errors="replace"), self._token)

    async def slow_down(self) -> None:
        """Waits before a wrong token is answered. If very many arrive at a time, the last ones do not wait, so that they do not
        pile up."""
        seconds = self.slower.wrong()
        if self._waiting >= _WAITING_MOST:
            return
        self._waiting += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._waiting -= 1

    def known_name(self, host: str) -> bool:
        """True if a Host header names this server."""
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() and not host.endswith("]") else host
        name = name.strip("[]").lower()
        if name in self._names:
            return True
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False
