"""A connection between two processes that hold the same secret.

Each side proves possession before the other reads any of its messages: it sends a greeting of fixed length with a
nonce, then HMAC-SHA256 over both nonces and its role. After that, every message has a limited length and a tag over its
direction, number and bytes, so that a changed, dropped, repeated or reflected message is refused before it is unpacked.
Nothing is encrypted: the figures are visible on the network.

Owner: its creator. Threads: one at a time. Errors: Refused with a sentence, or OSError.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import time
import zlib

_MAGIC = b"HRREPRT1"
_NONCE = 32
_TAG = 32
MESSAGE_MOST = 8 << 20  # bytes on the wire
_UNPACKED_MOST = 96 << 20
_GREETING_SECONDS = 5.0


class Refused(Exception):
    """One sentence: why the other side was refused."""


class WrongSecret(Refused):
    pass


class Closed(Refused):
    pass


def _digest(key: bytes, *parts: bytes) -> bytes:
    return hmac.digest(key, b"".join(len(part).to_bytes(8, "big") + part for part in parts), "sha256")


def _read(connection: socket.socket, length: int, seconds: float) -> bytes:
    """Reads all bytes within that time, however slowly they arrive."""
    end, parts, left = time.monotonic() + seconds, [], length
    while left:
        connection.settimeout(max(1e-3, end - time.monotonic()))
        try:
            part = connection.recv(min(left, 1 << 20))
        except TimeoutError:
            raise Refused(f"nothing was heard for {seconds:g} s") from None
        if not part:
            raise Closed("the connection was closed")
        parts.append(part)
        left -= len(part)
        if left and time.monotonic() >= end:
            raise Refused(f"a message took longer than {seconds:g} s")
    return b"".join(parts)


class Channel:
    def __init__(self, connection: socket.socket, key: bytes, own: bytes, other: bytes):
        self._connection, self._key, self._own, self._other = connection, key, own, other
        self._sent = self._received = 0

    def send(self, said: object, seconds: float = 10.0) -> None:
        body = zlib.compress(json.dumps(said, separators=(",", ":")).encode(), 1)
        if len(body) > MESSAGE_MOST:
            raise Refused(f"a message of {len(body)} bytes; {MESSAGE_MOST} are the most")
        tag = _digest(self._key, self._own, self._sent.to_bytes(8, "big"), body)
        self._sent += 1
        self._connection.settimeout(seconds)
        self._connection.sendall(len(body).to_bytes(4, "big") + tag + body)

    def receive(self, seconds: float = 10.0) -> object:
        head = _read(self._connection, 4 + _TAG, seconds)
        length = int.from_bytes(head[:4], "big")
        if length > MESSAGE_MOST:
            raise Refused(f"a message of {length} bytes; {MESSAGE_MOST} are the most")
        body = _read(self._connection, length, seconds)
        if not hmac.compare_digest(head[4:], _digest(self._key, self._other, self._received.to_bytes(8, "big"), body)):
            raise Refused("a message that was damaged on its way")
        self._received += 1
        return _unpack(body)

    def cut(self) -> None:
        """Cuts the connection, from any thread; a thread waiting on the connection gets an error."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._connection.close()


def _unpack(body: bytes) -> object:
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(body, _UNPACKED_MOST)
        if unpacker.unconsumed_tail or not unpacker.eof:
            raise Refused("a message that unpacks to more than is allowed")
        return json.loads(text)
    except (zlib.error, ValueError, RecursionError) as error:
        raise Refused(f"a message that cannot be unpacked ({error})") from None


class Greeting:
    """The monitor's side of the proof, in steps that do not wait, so that silent connections cost a socket each, but no
    thread. The caller owns the connection."""

    def __init__(self, connection: socket.socket, secret: bytes):
        """Raises OSError."""
        self._connection, self._secret, self._said = connection, secret, b""
        self._own = secrets.token_bytes(_NONCE)
        self.until = time.monotonic() + _GREETING_SECONDS
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.send(_MAGIC + self._own)

    def take(self) -> Channel | None:
        """Called when data can be read: returns the channel once the secret is proven, None until then. Raises WrongSecret before
        any content from the other side is used, Closed, OSError."""
        part = self._connection.recv(len(_MAGIC) + _NONCE + _TAG - len(self._said))
        if not part:
            raise Closed("the connection was closed")
        self._said += part
        if len(self._said) < len(_MAGIC) + _NONCE + _TAG:
            return None
        other, proof = self._said[len(_MAGIC):-_TAG], self._said[-_TAG:]
        if not hmac.compare_digest(proof, _digest(self._secret, b"collector", self._own, other)) or not self._said.startswith(_MAGIC):
            raise WrongSecret("it does not know the secret")
        self._connection.send(_digest(self._secret, b"monitor", self._own, other))
        return Channel(self._connection, _digest(self._secret, b"messages", self._own, other), b"monitor", b"collector")


def connect(host: str, port: int, secret: bytes, seconds: float = _GREETING_SECONDS) -> Channel:
    """Connects as the collector's side."""
    connection = socket.create_connection((host, port), timeout=seconds)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        greeting = _read(connection, len(_MAGIC) + _NONCE, seconds)
        if not greeting.startswith(_MAGIC):
            raise Refused("what answers there is no headrace monitor that takes reports, or one of another version")
        other, own = greeting[len(_MAGIC):], secrets.token_bytes(_NONCE)
        connection.sendall(_MAGIC + own + _digest(secret, b"collector", other, own))
        try:
            proof = _read(connection, _TAG, 2 * seconds)  # a wrong one is answered late
        except (Closed, ConnectionError):
            raise WrongSecret("it has refused the secret, or was stopped just now") from None
        if not hmac.compare_digest(proof, _digest(secret, b"monitor", other, own)):
            raise WrongSecret("it does not know the secret")
        return Channel(connection, _digest(secret, b"messages", other, own), b"collector", b"monitor")
    except BaseException:
        connection.close()
        raise
