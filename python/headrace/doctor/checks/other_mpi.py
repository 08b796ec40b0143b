"""Detects another MPI that interferes: its mpicc or mpiexec first in PATH, its libmpi first for the loader, its variables set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headrace import counterparts, own_files
from headrace.doctor.facts import Facts, is_file
from headrace.doctor.finding import Finding, note, ok, warning

_PROGRAMS = ("mpicc", "mpiexec")
_LIBRARIES = ("libmpi_abi.so.1", "libmpi.so.12")
_MARK = b"HEADRACE_"  # contained in all of Headrace's files
_SHOWN = 8


def is_ours(path: Path) -> bool:
    """True for files of any version of Headrace: searches for a mark, because names and links are unreliable."""
    try:
        return _MARK in own_files.read_bytes(path, 1 << 28)
    except OSError:
        return False


def _programs(facts: Facts) -> Iterator[Finding]:
    for name in _PROGRAMS:
        found = facts.programs(name)
        ours = facts.prefix / "bin" / name if facts.prefix else None
        if not found:
            place = f"export PATH={ours.parent}:$PATH" if ours and is_file(ours) else "activate the environment of the installation"
            yield note(f"mpi.no-{name}", f"no {name} in PATH", "", place)
        elif not is_ours(found[0]):
            later = next((path for path in found[1:] if is_ours(path)), None)
            yield warning(f"mpi.other-{name}", f"{name} in PATH is {found[0]}, which is not Headrace's"
                          + (f"; {later} comes after it" if later else ""),
                          "programs are built for the other MPI" if name == "mpicc" else
                          "each process may start as a job of one rank, or with the other library",
                          f"put {(ours or later or Path('<prefix>/bin/x')).parent} first in PATH")
        elif ours and is_file(ours) and not ours.samefile(found[0]):
            yield note(f"mpi.second-{name}", f"{name} in PATH is {found[0]}, of another Headrace than {ours}",
                       "two versions may meet in a job", "leave one of the two in PATH")
        else:
            yield ok(f"mpi.{name}", f"{name} in PATH is {found[0]}")


def _libraries(facts: Facts) -> Iterator[Finding]:
    for name in _LIBRARIES:
        places = (facts.path(directory) / name for directory in facts.directories("LD_LIBRARY_PATH"))
        first = next((place for place in places if is_file(place)), None)
        if first and not is_ours(first):
            yield warning(f"mpi.other-{name.split('.')[0]}", f"LD_LIBRARY_PATH finds {first}, which is not Headrace's",
                          "programs load the other library: they end in MPI_Init, or run as jobs of one rank",
                          f"take {first.parent} out of LD_LIBRARY_PATH, or put Headrace's lib before it")
    preload = facts.environment.get("LD_PRELOAD", "")
    if "libmpi" in preload:
        yield warning("mpi.preload", f"LD_PRELOAD={preload}", "every program, mpiexec too, loads that MPI library first",
                      "unset LD_PRELOAD")


def _variables(facts: Facts) -> Iterator[Finding]:
    found: dict[str, list[str]] = {}
    for name in sorted(facts.environment):
        owner = counterparts.owner_of(name)
        if owner:
            found.setdefault(owner, []).append(name)
    for owner, names in found.items():
        shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        known = [(name, counterparts.counterpart(name)) for name in names]
        here = [f"{name}: {instead}" for name, instead in known if instead]
        missing = [name for name, instead in known if not instead]
        remedy = ["here " + "; ".join(here[:_SHOWN])] if here else []
        if missing:
            remedy.append("no counterpart: " + ", ".join(missing[:_SHOWN]))
        yield note(f"mpi.variables-{owner.lower().replace(' ', '-')}", f"variables of {owner} are set: {shown}",
                   "Headrace does not read them", "; ".join(remedy) + " (docs/coming-from.md)")
    inside = [name for name in ("PMI_FD", "PMI_PORT", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK") if name in facts.environment]
    if inside:
        yield warning("mpi.inside-a-job", f"{', '.join(inside)} are set: this runs inside a job, or they were left behind",
                      "a program started here takes itself for a rank of that job", "unset them in the shell that starts jobs")


def look(facts: Facts) -> Iterator[Finding]:
    yield from _programs(facts)
    yield from _libraries(facts)
    yield from _variables(facts)
