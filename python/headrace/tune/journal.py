"""Measurements of a run of `headrace tune`, one per line, in a file next to the output file, so that an interrupted run
resumes where it stopped. The file is removed when all output has been written.

Measurements of another machine or version are ignored, and so is an incomplete line.
"""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

from headrace import own_files
from headrace.bench.child import Failed

_MOST = 1 << 26  # characters


class Journal:
    """`head`: must be equal for measurements to be reused. Without a path, nothing is stored."""

    def __init__(self, path: Path | None, head: dict, afresh: bool = False):
        self.path, self.found, self._file = path, {}, None
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        own_files.ours_or_missing(path)
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666), "a+",
                               encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise Failed(f"another headrace tune is at work on {path}") from None
        self._file.seek(0)
        lines = [] if afresh else self._file.read(_MOST).splitlines(keepends=True)
        if lines and _read(lines[0]) == {"head": head}:
            for line in lines[1:]:
                entry = _read(line)
                if isinstance(entry, dict) and isinstance(entry.get("key"), str) and "value" in entry:
                    self.found[entry["key"]] = entry["value"]
        self._file.truncate(0)
        self._write({"head": head})
        for key, value in self.found.items():
            self._write({"key": key, "value": value})

    def put(self, key: str, value: object) -> None:
        if self._file is not None:
            self._write({"key": key, "value": value})
        self.found[key] = value

    def close(self, remove: bool) -> None:
        """Closes the journal; removes an empty one."""
        if self._file is None:
            return
        if remove or not self.found:
            self.path.unlink(missing_ok=True)
        self._file.close()
        self._file = None

    def _write(self, entry: dict) -> None:
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno()) if "head" in entry else None


def _read(line: str) -> object:
    try:
        return json.loads(line) if line.endswith("\n") else None
    except (ValueError, RecursionError):
        return None
