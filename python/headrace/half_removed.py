"""Handles an installation whose Python files are partly missing: names them instead of printing a traceback. Imports nothing from
Headrace."""

from __future__ import annotations

import csv
import os
import sys
from importlib import metadata

_SHOWN = 6


def gone() -> list[str]:
    """Returns the files in pip's list that do not exist; none if pip has no list."""
    try:
        ours = metadata.distribution("headrace")
    except metadata.PackageNotFoundError:
        return []
    rows = csv.reader((ours.read_text("RECORD") or "").splitlines())
    return sorted(row[0] for row in rows if len(row) == 3 and row[1] and not os.path.lexists(str(ours.locate_file(row[0]))))


def stop(problem: ImportError) -> None:
    """Ends the process with a message. Raises `problem` if none of Headrace's own files is missing."""
    names = gone()
    if not names and not (problem.name or "").startswith("headrace"):
        raise problem
    if names:
        many = "1 file of this installation is" if len(names) == 1 else f"{len(names)} files of this installation are"
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        what, remedy = f"{many} gone: {', '.join(names[:_SHOWN])}{more}", "--force-reinstall"
    else:
        what, remedy = f"files of this installation are gone, and pip's list of them: {problem}", "--ignore-installed"
    print(f"headrace: {what}\nheadrace: to put them back: pip install {remedy} --no-deps headrace", file=sys.stderr)
    sys.exit(2)
