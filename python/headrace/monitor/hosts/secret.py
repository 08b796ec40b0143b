"""The secret shared by collectors and the monitor: a file that only the user can read."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

from headrace import own_files

_LEAST = 16  # characters
_MOST = 1024


class Unusable(Exception):
    """One sentence: why there is no usable secret."""


def default_path() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "headrace" / "report-secret"


def read(path: Path) -> bytes:
    """Reads the secret; `-`: the first line of standard input. Raises Unusable."""
    if str(path) == "-":
        return _checked(sys.stdin.readline(_MOST), "standard input")
    try:
        return _checked(own_files.read_secret(path, _MOST), str(path))
    except own_files.Unfit as unfit:
        raise Unusable(f"no secret: {unfit}") from None
    except OSError as error:
        raise Unusable(f"no secret: {path}: {error.strerror}. The monitor makes it (headrace monitor --reports); bring it here") from None


def _checked(text: str, place: str) -> bytes:
    secret = text.strip()
    if len(secret) < _LEAST:
        raise Unusable(f"{place} holds no secret of at least {_LEAST} characters")
    return secret.encode()


def read_or_make(path: Path) -> bytes:
    """Reads the secret's file, or creates it. Raises Unusable."""
    if str(path) == "-" or path.exists():
        return read(path)
    try:
        if path == default_path():
            own_files.own_directory(path.parent)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(file, "w", encoding="utf-8") as out:
            out.write(secrets.token_urlsafe(32) + "\n")
    except FileExistsError:
        pass  # another monitor has just created it
    except OSError as error:
        raise Unusable(f"no secret can be kept in {path}: {error.strerror}") from None
    return read(path)
