"""Finds Headrace and its benchmark programs: a build directory, an installed prefix, or this installation."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from headrace.bench.child import Failed


def _first(candidates) -> Path | None:
    return next((path for path in candidates if path.is_file()), None)


@dataclass(frozen=True)
class Programs:
    """The benchmark programs, and their launcher."""

    mpiexec: Path
    library: Path  # libmpi_abi.so.1
    directories: tuple[Path, ...]  # directories that contain programs
    own: tuple[Path, ...] = ()  # directories that may contain programs built by the user

    def find(self, name: str) -> Path:
        found = _first(directory / name for directory in self.directories)
        found = found or _first(path for directory in self.own if os.access(path := directory / name, os.X_OK))
        if found is None:
            nor = ", nor in this directory or in PATH" if self.own else ""
            raise Failed(f"there is no program {name} in {' or '.join(map(str, self.directories))}{nor}")
        return found

    def environment(self) -> dict[str, str]:
        """Returns the environment with Headrace's library first, for a moved build and for programs without a run path."""
        rest = os.environ.get("LD_LIBRARY_PATH")
        return {"LD_LIBRARY_PATH": str(self.library.parent) + (f":{rest}" if rest else "")}

    def ranks(self, count: int, program: str, *arguments: object) -> list[str]:
        return [str(self.mpiexec), "--bind-to", "core", "-n", str(count), str(self.find(program)), *map(str, arguments)]


def locate(where: Path, mpiexec: Path | None = None) -> Programs:
    """Finds the programs of a build directory or a prefix. Raises Failed if a part is missing."""
    where = where.resolve()
    library = _first([where / "lib/libmpi_abi.so.1", *where.glob("lib*/**/libmpi_abi.so.1"),
                      *where.glob("src/**/libmpi_abi.so.1")])
    mpiexec = mpiexec or _first([where / "bin/mpiexec"])
    if library is None or mpiexec is None:
        raise Failed(f"no {'libmpi_abi.so.1' if library is None else 'mpiexec'} of Headrace under {where}")
    return Programs(mpiexec, library, (where / "bin", library.parent / "headrace/bench"))
