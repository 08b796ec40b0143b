"""Everything that goes into a build directory."""

from __future__ import annotations

from pathlib import Path

from . import base, collective, entries, errors, fortran, fortran_c, fortran_sources, impl, mpich
from .model import Tables


def write(tables: Tables, api: Path, root: Path) -> None:
    base.write(tables.constants, tables.knobs, tables.overlay, root)
    impl.write(tables, root / "bind")
    collective.write(tables, root / "bind")
    entries.write(tables, root / "bind")
    errors.write(tables, root / "bind")
    mpich.write(tables, tables.mpich, root / "mpich")
    bindings = fortran.Bindings(tables, api)
    fortran_c.write(bindings, tables, root / "fortran")
    fortran_sources.write(bindings, tables, api, root / "fortran_sources")
