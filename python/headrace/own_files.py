"""Rules for files and directories that another user of the host may have replaced.

A file is checked through its open descriptor, never by its name. No function here waits for a writer, or reads more than its limit.
Threads: any.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

SMALL = 1 << 20  # size limit of settings files and the like, in bytes

_KINDS = {stat.S_IFIFO: "a FIFO", stat.S_IFDIR: "a directory", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a device", stat.S_IFCHR: "a device",
          stat.S_IFLNK: "a link"}
_FLAGS = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Unfit(OSError):
    """A file or directory that is refused. `strerror` gives the reason; str() also names the file."""

    def __init__(self, path: str | os.PathLike, why: str):
        super().__init__(errno.EPERM, why, os.fspath(path))

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def _regular(path: str | os.PathLike, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Unfit(path, f"it is {_KINDS.get(stat.S_IFMT(status.st_mode), 'something else')} and no regular file")


def open_regular(path: str | os.PathLike, most: int, *, owners: Collection[int] | None = None, follow: bool = True) -> int:
    """Opens a regular file of at most `most` bytes for reading and returns its descriptor; the caller closes it. `owners`:
    permitted owners (None: any). `follow`: the name may be a link. Raises Unfit, OSError."""
    _regular(path, os.stat(path, follow_symlinks=follow))  # checked first, as opening a device may have effects
    file = os.open(path, os.O_RDONLY | _FLAGS | (0 if follow else os.O_NOFOLLOW))
    try:
        status = os.fstat(file)
        _regular(path, status)
        if owners is not None and status.st_uid not in owners:
            raise Unfit(path, f"it belongs to user {status.st_uid}, and is left alone")
        if status.st_size > most:
            raise Unfit(path, f"it has {status.st_size} bytes, where {most} are the most")
    except BaseException:
        os.close(file)
        raise
    return file


def _read(file: int, path: str | os.PathLike, most: int) -> bytes:
    """Reads a file even if it claims to be empty or grows in the meantime."""
    found = bytearray()
    while part := os.read(file, min(1 << 20, most + 1 - len(found))):
        found += part
        if len(found) > most:
            raise Unfit(path, f"it has more than {most} bytes")
    return bytes(found)


def read_bytes(path: str | os.PathLike, most: int = SMALL) -> bytes:
    """Reads a file that the user has named. Raises Unfit, OSError."""
    file = open_regular(path, most)
    try:
        return _read(file, path, most)
    finally:
        os.close(file)


def _text(data: bytes, path: str | os.PathLike) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Unfit(path, "it holds no text") from None


def read_text(path: str | os.PathLike, most: int = SMALL) -> str:
    """Like read_bytes(), but returns the content decoded as UTF-8."""
    return _text(read_bytes(path, most), path)


def read_secret(path: str | os.PathLike, most: int = 4096) -> str:
    """Reads a file that this user owns and that is private to this user. Raises Unfit, OSError."""
    file = open_regular(path, most, owners=(os.geteuid(),))
    try:
        mode = stat.S_IMODE(os.fstat(file).st_mode)
        if mode & 0o077:
            raise Unfit(path, f"it can be {'changed' if mode & 0o022 else 'read'} by others (mode {mode:03o}), so it is no secret; make a new one, "
                              "of mode 600")
        return _text(_read(file, path, most), path)
    finally:
        os.close(file)


def own_directory(path: Path) -> None:
    """Creates the directory with mode 700. An existing directory must belong to this user, and not be writable by
    others. Raises Unfit, OSError."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = os.stat(path)
    if status.st_uid != os.geteuid():
        raise Unfit(path, f"this directory belongs to user {status.st_uid}")
    if status.st_mode & 0o002:
        raise Unfit(path, f"others can write to this directory (mode {stat.S_IMODE(status.st_mode):03o})")


def ours_or_missing(path: str | os.PathLike) -> None:
    """Checks a name before it is opened for writing: it must be unused, or a regular file of this user with one link. Raises
    Unfit."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    _regular(path, status)
    if status.st_uid != os.geteuid():
        raise Unfit(path, f"it belongs to user {status.st_uid}, and is left alone")
    if status.st_nlink != 1:
        raise Unfit(path, "it has another name as well, so that it may not be ours")


@contextlib.contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """Creates an empty file of this user next to `path`, under an unpredictable name; it becomes `path` when the block
    ends and is removed if the block fails."""
    name = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    try:
        yield name
        os.replace(name, path)
    finally:
        name.unlink(missing_ok=True)


@contextlib.contextmanager
def replacing(path: Path, mode: str = "w") -> Iterator[IO]:
    """Opens `path` for writing; the file ends up either complete or unchanged."""
    with unfinished(path) as name, open(name, mode, **({} if "b" in mode else {"encoding": "utf-8"})) as file:
        yield file
        file.flush()
