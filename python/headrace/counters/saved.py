"""Files that hold the pages of a whole job: `mpiexec --save-counters FILE` writes them, and save().

"HRSAVED1", then for each page its length (8 bytes, little-endian) and the page.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from .page import Page, Problem

MAGIC = b"HRSAVED1"


def save(path: str | os.PathLike, pages: Iterable[Page]) -> None:
    """As they are now; the file is there whole, or not at all."""
    path = Path(path)
    unfinished = path.with_name(path.name + f".{os.getpid()}")
    try:
        with open(unfinished, "wb") as file:
            file.write(MAGIC)
            for page in pages:
                raw = page.raw()
                file.write(len(raw).to_bytes(8, "little") + raw)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def load(path: str | os.PathLike) -> list[Page]:
    """By job and rank. Raises Problem, or OSError."""
    data = Path(path).read_bytes()
    if not data.startswith(MAGIC):
        raise Problem(f"{path}: not a file of counters")
    pages, at = [], len(MAGIC)
    while at < len(data):
        length = int.from_bytes(data[at:at + 8], "little")
        at += 8
        if length == 0 or at + length > len(data):
            raise Problem(f"{path}: cut off after {len(pages)} pages")
        pages.append(Page(data[at:at + length], f"{path}, page {len(pages)}"))
        at += length
    return sorted(pages, key=lambda page: (page.job, page.rank))
