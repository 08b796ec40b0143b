"""Switches and the hosts below them, from Slurm's topology.conf or the output of ibnetdiscover (`headrace monitor --topology FILE`)."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

from headrace import own_files
from headrace.monitor.model import clean

_BYTES_MOST = 64 << 20
_SWITCHES_MOST = 10_000
_HOSTS_MOST = 100_000
_NAME_MOST = 256
_WORD = re.compile(r"(\w+)=(\S+)")
_PART = re.compile(r"[^,\[\]]*(?:\[[^\]]*\][^,\[\]]*)*")
_BRACKETS = re.compile(r"\[([^\]]*)\]")
_SWITCH = re.compile(r'Switch\s+\d+\s+"([^"]+)"\s*(?:#\s*"([^"]*)")?')
_PORT = re.compile(r'\[\d+\](?:\[ext \d+\])?\s*"([^"]+)"\[\d+\](?:\([0-9a-f]+\))?\s*(?:#\s*"([^"]*)")?')


class Wrong(Exception):
    """One sentence: what is wrong with the file."""


@dataclass
class Switch:
    name: str
    hosts: list[str] = field(default_factory=list)
    switches: list[str] = field(default_factory=list)  # connected switches: in a topology.conf those below, in a fabric all neighbours


def _numbers(text: str) -> list[str]:
    """Expands the text between two brackets: 01-03,7 -> 01, 02, 03, 7. Raises Wrong."""
    numbers: list[str] = []
    for one in text.split(","):
        first, dash, last = one.partition("-")
        if len(one) > _NAME_MOST or not first.isdecimal() or dash and not last.isdecimal() or not 0 <= int(last or first) - int(first) < _HOSTS_MOST:
            raise Wrong(f"{one[:60]!r} is not a range of numbers")
        numbers += [str(number).zfill(len(first)) for number in range(int(first), int(last or first) + 1)]
        if len(numbers) > _HOSTS_MOST:
            raise Wrong(f"it has more than {_HOSTS_MOST} hosts")
    return numbers


def expand(text: str) -> list[str]:
    """Expands Slurm's notation: node[01-03,7],login -> node01, node02, node03, node7, login. Raises Wrong."""
    found: list[str] = []
    for part in filter(None, _PART.findall(text)):
        names = [""]
        end = 0
        for bracket in _BRACKETS.finditer(part):
            numbers = _numbers(bracket[1])
            if len(names) * len(numbers) > _HOSTS_MOST:
                raise Wrong(f"{part[:60]!r} names more than {_HOSTS_MOST} hosts")
            names = [name + part[end:bracket.start()] + number for name in names for number in numbers]
            end = bracket.end()
        if len(names[0]) + len(part) - end > _NAME_MOST:
            raise Wrong(f"{part[:60]!r} is not a list of names")
        found += [name + part[end:] for name in names]
        if len(found) > _HOSTS_MOST:
            raise Wrong(f"it has more than {_HOSTS_MOST} hosts")
    return [clean(name) for name in found]


def _slurm(text: str) -> list[Switch]:
    found: dict[str, Switch] = {}
    named = 0
    for line in text.replace("\\\n", " ").splitlines():
        words = {name.lower(): value for name, value in _WORD.findall(line.partition("#")[0])}
        names, hosts, switches = (expand(words.get(word, "")) for word in ("switchname", "nodes", "switches"))
        named += max(1, len(names)) * (1 + len(hosts) + len(switches))
        if named > 2 * _HOSTS_MOST:
            raise Wrong(f"it has more than {_SWITCHES_MOST} switches or {_HOSTS_MOST} hosts")
        for name in names:
            switch = found.setdefault(name, Switch(name))
            switch.hosts += hosts
            switch.switches += switches
    return list(found.values())


def _fabric(text: str) -> list[Switch]:
    """Adapters are named after the first word of their description, which is their host's name."""
    names: dict[str, str] = {}
    neighbours: dict[str, Switch] = {}
    now: Switch | None = None
    for line in text.splitlines():
        if switch := _SWITCH.match(line):
            number, words = switch.groups()
            name = clean((words or "").strip() or number)
            names[number] = f"{name} {number[-4:]}" if name in names.values() else name
            now = neighbours[number] = Switch(names[number])
        elif line and not line.startswith("["):
            now = None  # an adapter's own section, which repeats its cables
        elif now and (port := _PORT.match(line)):
            number, words = port.groups()
            if number.startswith("S-"):
                now.switches.append(number)
            elif number.startswith("H-"):
                now.hosts.append(clean((words or number).split()[0] if (words or "").strip() else number))
    for switch in neighbours.values():
        switch.switches = [names.get(number, number) for number in switch.switches]
    return list(neighbours.values())


def parse(text: str) -> list[Switch]:
    """Raises Wrong."""
    found = _fabric(text) if re.search(r'^Switch\s+\d+\s+"', text, re.MULTILINE) else _slurm(text)
    if not found:
        raise Wrong("it names no switch; it is Slurm's topology.conf (SwitchName=...), or the output of ibnetdiscover")
    if len(found) > _SWITCHES_MOST or sum(len(switch.hosts) for switch in found) > _HOSTS_MOST:
        raise Wrong(f"it has more than {_SWITCHES_MOST} switches or {_HOSTS_MOST} hosts")
    for switch in found:
        switch.hosts, switch.switches = sorted(set(switch.hosts)), sorted(set(switch.switches))
    return found


def read(path: Path) -> list[dict]:
    """Returns the switches of a file. Raises Wrong, OSError."""
    with open(own_files.open_regular(path, _BYTES_MOST), "rb") as file:
        text = file.read(_BYTES_MOST).decode("utf-8", "replace")
    try:
        return [asdict(switch) for switch in parse(text)]
    except Wrong as wrong:
        raise Wrong(f"{path}: {wrong}") from None
