"""Writes files so that an unchanged one keeps its modification time, and a build that depends on it need not be repeated."""

from __future__ import annotations

from pathlib import Path


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
