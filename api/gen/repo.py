"""The generated files that are committed; tests/codegen regenerates and compares them."""

from __future__ import annotations

from pathlib import Path

from . import docs, extensions, header, man
from .files import put
from .model import Tables


def write(tables: Tables, api: Path, root: Path) -> None:
    put(root / "include/mpi.h", header.render(tables, api / "templates/mpi.h"))
    results, found = api.parent / "docs/conformance-results.md", api.parent / "tests/noop/found.tsv"
    put(root / "docs/conformance.md", docs.conformance(tables, results, found))
    put(root / "docs/knobs.md", docs.knobs(tables))
    put(root / "docs/mpix.md", extensions.page(extensions.Extensions(tables, api), man.Manual(tables, api, "").meaning))
