"""Files that contain the pages of a whole job, written by `mpiexec --save-counters FILE` or save().

"HRSAVED1", then for each page its length (8 bytes, little-endian) and the page.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from headrace import own_files

from .page import PAGE_MOST, Page, Problem

MAGIC = b"HRSAVED1"
_PAGES_MOST = 1 << 17
_FILE_MOST = 1 << 36  # bytes; each page is checked before the next one is read


def save(path: str | os.PathLike, pages: Iterable[Page]) -> None:
    """Writes the pages' current contents; the file appears complete or not at all."""
    with own_files.replacing(Path(path), "wb") as file:
        file.write(MAGIC)
        for page in pages:
            raw = page.raw()
            file.write(len(raw).to_bytes(8, "little") + raw)


def load(path: str | os.PathLike) -> list[Page]:
    """Returns the pages, sorted by job and rank. Raises Problem, or OSError."""
    with open(own_files.open_regular(path, _FILE_MOST), "rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise Problem(f"{path}: not a file of counters")
        pages: list[Page] = []
        while head := file.read(8):
            length = int.from_bytes(head, "little")
            if length > PAGE_MOST or len(pages) == _PAGES_MOST:
                raise Problem(f"{path}: page {len(pages)} has {length} bytes; {PAGE_MOST} are the most, and {_PAGES_MOST} pages")
            data = file.read(length)
            if len(head) < 8 or length == 0 or len(data) < length:
                raise Problem(f"{path}: cut off after {len(pages)} pages")
            pages.append(Page(data, f"{path}, page {len(pages)}"))
    return sorted(pages, key=lambda page: (page.job, page.rank))
