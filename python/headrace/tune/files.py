"""The files that `headrace tune` writes: tuning.json (rows of the selection table), tuning.messages (message limits),
and the picture next to them; each is written completely or not at all."""

from __future__ import annotations

import json
from pathlib import Path

from headrace import own_files
from headrace.own_files import Unfit

FORMAT = 1
_MOST = 1 << 24  # bytes


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with own_files.replacing(path) as file:
        file.write(text)


def fit(path: Path | None) -> None:
    """Checks, before anything is measured, that the path is unused, or a file that can be read and replaced. Raises Unfit,
    OSError."""
    if path is not None:
        _text(path)


def _text(path: Path) -> str:
    """Returns the file's text; empty if there is none."""
    try:
        return own_files.read_text(path, _MOST)
    except FileNotFoundError:
        return ""


def write_rows(path: Path, content: dict) -> None:
    """Writes one row per line, so that messages and people can refer to it."""
    head = {key: value for key, value in content.items() if key != "rows"}
    table = ",\n".join("  " + json.dumps(row) for row in content["rows"])
    put(path, json.dumps(head, indent=1)[:-2] + ',\n "rows": [' + (f"\n{table}\n " if table else "") + "]\n}\n")


def rows_before(path: Path, machine: dict, version: str) -> list[dict]:
    """Returns the rows of an earlier file of this machine and version; others are dropped."""
    try:
        content = json.loads(_text(path) or "{}")
        fits = content["format"] == FORMAT and content["machine"] == machine and content["version"] == version
        return [row for row in content["rows"] if row["operation"] and row["algorithm"]] if fits else []
    except Unfit:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def text_before(path: Path) -> str:
    try:
        return _text(path)
    except Unfit:
        raise
    except OSError:
        return ""


def beside(path: Path, suffix: str) -> Path:
    """Returns the name of the message file next to tuning.json, as in the library (src/base/tuned_knobs.cpp)."""
    return path.with_suffix(suffix) if path.suffix else Path(str(path) + suffix)
