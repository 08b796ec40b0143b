#!/usr/bin/env python3
"""Counts the includes of a layer that violate its order.

  rooms.py src/p2p src/comm launcher [--names]

A layer with rooms declares them in its CMakeLists.txt from the lowest to the highest (hr_room()): an include of a room
that the including room does not list in SEES counts. A header of the layer's own folder belongs to the room that lists
it under FACES; every room sees those that none lists. For a folder without rooms, units (NAME.hpp and NAME.cpp) are
brought into the order that has the fewest includes against it.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.M)


@dataclass
class Room:
    name: str
    sees: set[str] = field(default_factory=set)
    faces: set[str] = field(default_factory=set)
    sources: set[str] = field(default_factory=set)


def rooms_of(folder: Path) -> list[Room]:
    """The declared rooms, from the lowest to the highest; ValueError: one sees a room that is not below it, or lists a missing file."""
    rooms: list[Room] = []
    for words in re.findall(r"hr_room\(([^)]*)\)", (folder / "CMakeLists.txt").read_text(encoding="utf-8")):
        _, name, *rest = words.split()
        room = Room(name)
        into: set[str] = set()
        for word in rest:
            if word in ("SEES", "FACES", "SOURCES"):
                into = {"SEES": room.sees, "FACES": room.faces, "SOURCES": room.sources}[word]
            else:
                into.add(word)
        if extra := room.sees - {each.name for each in rooms}:
            raise ValueError(f"{folder}: {name} sees {', '.join(sorted(extra))}, which is not declared before it")
        rooms.append(room)
    for room in rooms:
        on_disk = {file.name for file in (folder / room.name).glob("*.cpp")}
        if on_disk != room.sources:
            raise ValueError(f"{folder}: the sources of {room.name} differ from its files in {', '.join(sorted(on_disk ^ room.sources))}")
        if missing := {face for face in room.faces if not (folder / face).is_file()}:
            raise ValueError(f"{folder}: {room.name} lists {', '.join(sorted(missing))}, which is not there")
    if rooms and (stray := {file.parent.name for file in folder.glob("*/*.[ch]pp")} - {room.name for room in rooms}):
        raise ValueError(f"{folder}: no room {', '.join(sorted(stray))} is declared")
    return rooms


def included(folder: Path, file: Path) -> list[Path]:
    """Files of the folder that this file includes."""
    names = INCLUDE.findall(file.read_text(encoding="utf-8"))
    candidates = [folder.parent / name if name.startswith(f"{folder.name}/") else folder / name for name in names]
    return [each for each in candidates if each.is_file() and each.is_relative_to(folder)]


def against_rooms(folder: Path, rooms: list[Room]) -> list[str]:
    face_of = {face: room for room in rooms for face in room.faces}
    by_name = {room.name: room for room in rooms}

    def room_of(file: Path) -> Room | None:
        return face_of.get(file.name) if file.parent == folder else by_name[file.parent.name]

    found = []
    for file in sorted(folder.rglob("*.[ch]pp")):
        room = room_of(file)
        for target in included(folder, file):
            other = room_of(target)
            if room is None or other is None or other is room or other.name in room.sees:
                continue
            found.append(f"{file.relative_to(folder)} includes {target.relative_to(folder)}")
    return found


def best_order(uses: dict[str, set[str]]) -> list[str]:
    """Orders units so that few use a later one: moves single units as long as that helps."""
    order: list[str] = []
    left = dict(uses)
    while left:
        name = min(left, key=lambda unit: (len((left[unit] & left.keys()) - {unit}), unit))
        order.append(name)
        del left[name]
    users = {name: {unit for unit, used in uses.items() if name in used} for name in uses}
    moved = True
    while moved:
        moved = False
        for name in sorted(uses):
            at = order.index(name)
            rest = order[:at] + order[at + 1 :]
            costs = [len(uses[name])]  # everything that it uses is later
            for other in rest:
                costs.append(costs[-1] + (other in users[name]) - (other in uses[name]))
            best = min(range(len(costs)), key=costs.__getitem__)
            if costs[best] < costs[at]:
                order = rest[:best] + [name] + rest[best:]
                moved = True
    return order


def against_units(folder: Path) -> list[str]:
    uses: dict[str, set[str]] = {}
    for file in sorted(folder.glob("*.[ch]pp")):
        used = (each.stem for each in included(folder, file) if each.parent == folder)
        uses.setdefault(file.stem, set()).update(name for name in used if name != file.stem)
    order = best_order(uses)
    place = {name: at for at, name in enumerate(order)}
    return [f"{name} includes {used}" for name in order for used in sorted(uses[name]) if place[used] > place[name]]


def against(folder: Path) -> list[str]:
    rooms = rooms_of(folder)
    return against_rooms(folder, rooms) if rooms else against_units(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--names", action="store_true", help="name the includes")
    options = parser.parse_args()
    for folder in options.folders:
        try:
            found = against(folder)
        except ValueError as wrong:
            print(wrong, file=sys.stderr)
            return 1
        print(f"{folder}: {len(found)} against the order, {len(rooms_of(folder))} rooms")
        if options.names:
            for each in found:
                print(f"  {each}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
