"""The files that `headrace tune` writes: tuning.json (rows of the selection table), tuning.messages (limits of messages), and beside
them the picture; each whole, or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

FORMAT = 1


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=path.name + ".", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def write_rows(path: Path, content: dict) -> None:
    """A row a line, so that messages and people find it."""
    head = {key: value for key, value in content.items() if key != "rows"}
    table = ",\n".join("  " + json.dumps(row) for row in content["rows"])
    put(path, json.dumps(head, indent=1)[:-2] + ',\n "rows": [' + (f"\n{table}\n " if table else "") + "]\n}\n")


def rows_before(path: Path, machine: dict, version: str) -> list[dict]:
    """Those of an earlier file, if it is one of this machine and version: others' rows are not kept."""
    try:
        content = json.loads(path.read_text())
        fits = content["format"] == FORMAT and content["machine"] == machine and content["version"] == version
        return [row for row in content["rows"] if row["operation"] and row["algorithm"]] if fits else []
    except (OSError, ValueError, KeyError, TypeError):
        return []


def text_before(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""


def beside(path: Path, suffix: str) -> Path:
    """As the library names the file of messages beside tuning.json (src/base/tuned_knobs.cpp)."""
    return path.with_suffix(suffix) if path.suffix else Path(str(path) + suffix)
