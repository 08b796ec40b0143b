"""Wraps the prose of generated pages as the other documents are wrapped (scripts/docs/wrap.py)."""

from __future__ import annotations

import sys
from pathlib import Path


def filled(text: str) -> str:
    """Returns a paragraph in lines of at most 120 columns, if words and code permit it."""
    folder = str(Path(__file__).resolve().parents[2] / "scripts/docs")  # not there where only the sources are generated
    if folder not in sys.path:
        sys.path.append(folder)
    from wrap import wrap

    return wrap(text).rstrip("\n")
