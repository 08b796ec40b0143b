"""Compares this installation's files with pip's list of them: missing, changed, or also written by another package."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headrace import own_files
from headrace.doctor.facts import Facts
from headrace.doctor.finding import Finding, error, note, ok, warning

_MOST = 1 << 28  # largest size of a file
_SHOWN = 6
_AGAIN = "pip install --force-reinstall --no-deps headrace"


@dataclass
class Package:
    """A package that pip has installed; `files`: "sha256=..." or "" by absolute path."""

    name: str
    version: str
    files: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def _packages(folder: Path) -> Iterator[Package]:
    for info in sorted(folder.glob("*.dist-info")):
        name, _, version = info.name[:-len(".dist-info")].partition("-")
        package = Package(name.replace("_", "-"), version)
        try:
            rows = list(csv.reader(own_files.read_text(info / "RECORD", _MOST).splitlines()))
        except OSError:  # the package was installed by another tool
            continue
        for row in rows:
            if len(row) == 3:
                package.files[os.path.normpath(folder / row[0])] = row[1]
        yield package


def _hash(path: str) -> str | None:
    """Returns the hash in RECORD's notation; None if the file cannot be read."""
    try:
        digest = hashlib.sha256(own_files.read_bytes(path, _MOST)).digest()
    except OSError:
        return None
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def _list(paths: Iterable[str], prefix: Path) -> str:
    names = [os.path.relpath(path, prefix) if path.startswith(f"{prefix}/") else path for path in sorted(paths)]
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _installed(prefix: Path) -> list[Package]:
    """Returns the packages of all Python installations in the prefix; lib64 is usually a link to lib."""
    folders = {folder.resolve() for folder in prefix.glob("lib*/python3*/*-packages")}
    return [package for folder in sorted(folders) for package in _packages(folder)]


def _cut_off(path: str) -> bool:
    """True for a library or program truncated before its tables, after an interrupted copy or on a full disk."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            size = os.fstat(file.fileno()).st_size
    except OSError:
        return False
    if head[:5] != b"\x7fELF\x02" or len(head) < 64:
        return head[:4] == b"\x7fELF"
    at, (entry, entries) = struct.unpack_from("<Q", head, 40)[0], struct.unpack_from("<HH", head, 58)
    return size < at + entry * entries


def _without_list(prefix: Path) -> bool:
    """True if pip has installed Headrace here, but its list of files is missing."""
    return any((folder / "headrace/cli.py").is_file() for folder in prefix.glob("lib*/python3*/*-packages"))


def look(facts: Facts) -> Iterator[Finding]:
    packages = _installed(facts.prefix) if facts.prefix else []
    ours = next((package for package in packages if package.name == "headrace"), None)
    if facts.prefix and (not ours or not ours.files) and _without_list(facts.prefix):
        yield warning("files.no-list", f"pip's list of this installation's files (headrace-*.dist-info/RECORD below {facts.prefix}) is not there",
                      "a removal or an installation broke off: files may be missing, and pip cannot remove the others",
                      "pip install --ignore-installed --no-deps headrace")
        return
    if not ours or facts.prefix is None:
        yield ok("files.not-by-pip", "this Headrace was not installed by pip, which would keep a list of its files")
        return
    missing = [path for path, kept in ours.files.items() if kept and not os.path.lexists(path)]
    changed = [path for path, kept in ours.files.items() if kept and path not in missing and _hash(path) != kept]
    if missing:
        yield error("files.missing", f"{len(missing)} of {len(ours.files)} files of the installation are gone: {_list(missing, facts.prefix)}",
                    "programs that need them do not start, or find another MPI in their place", _AGAIN)
    cut_off = [path for path in changed if _cut_off(path)]
    if cut_off:
        yield error("files.cut-off", f"not whole: {_list(cut_off, facts.prefix)}", "programs that need them crash", _AGAIN)
        changed = [path for path in changed if path not in cut_off]
    for other in packages:
        shared = set(ours.files) & set(other.files) if other is not ours else set()
        theirs = [path for path in shared if path in changed]
        left = [path for path in shared if path not in changed and path not in missing]
        changed = [path for path in changed if path not in theirs]
        remedy = f"keep the two in different environments: pip uninstall {other.name}, then {_AGAIN}"
        if theirs:
            yield error(f"files.overwritten-by-{other.name}", f"the package {other} has overwritten {_list(theirs, facts.prefix)}",
                        "parts of two MPI libraries meet in one job: ranks end in MPI_Init, or each runs alone", remedy)
        if left:
            yield warning(f"files.shared-with-{other.name}", f"the package {other} has files of the same names: {_list(left, facts.prefix)}; "
                          "those of Headrace are there", f"{other.name} does not work here, and uninstalling it removes files of Headrace", remedy)
    if changed:
        yield note("files.changed", f"changed since the installation: {_list(changed, facts.prefix)}",
                   "this is not what was released", _AGAIN)
    elif not missing and not cut_off:
        yield ok("files.complete", f"all {len(ours.files)} files of the installation are there, as pip has put them")
