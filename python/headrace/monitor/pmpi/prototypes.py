"""Parses the declarations of a preprocessed mpi.h: functions that exist as MPI_ and as PMPI_."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEAD = re.compile(r"\bint\s+(P?MPI_)([A-Z]\w*)\s*\(")
_NAME = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")


@dataclass(frozen=True)
class Function:
    name: str  # without MPI_
    declarations: tuple[str, ...]  # declarations of its arguments
    arguments: tuple[str, ...]  # their names

    def has(self, *names: str) -> bool:
        return all(name in self.arguments for name in names)


def _closing(text: str, at: int) -> int:
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place
    return len(text)


def _split(text: str) -> list[str]:
    parts, depth, last = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[last:place].strip())
            last = place + 1
    return [*parts, text[last:].strip()]


def _function(name: str, arguments: str) -> Function | None:
    """Returns None for a function whose arguments cannot be passed on: their number varies, or some have no name."""
    declarations = [] if arguments.strip() in ("", "void") else _split(arguments)
    names = []
    for declaration in declarations:
        found = _NAME.search(declaration)
        if found is None or found[1] == declaration.strip() or "..." in declaration or "(" in declaration:
            return None
        names.append(found[1])
    return Function(name, tuple(declarations), tuple(names))


def parse(text: str) -> list[Function]:
    found: dict[str, Function] = {}
    profiled: set[str] = set()
    for head in _HEAD.finditer(text):
        if head[1] == "PMPI_":
            profiled.add(head[2])
            continue
        function = _function(head[2], " ".join(text[head.end():_closing(text, head.end() - 1)].split()))
        if function:
            found[head[2]] = function
    return [found[name] for name in sorted(found) if name in profiled and not name.startswith("T_")]
