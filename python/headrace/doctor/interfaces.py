"""Network interfaces of this host with their addresses, as getifaddrs() lists them, and the one at which a rank over TCP
listens, which is chosen as in src/transport/tcp/interface.cpp."""

from __future__ import annotations

import ctypes
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.doctor.facts import Facts

_UP, _LOOPBACK, _RUNNING = 0x1, 0x8, 0x40
_DEEPEST = 4
_BELOW = "lower_"
_OFFSETS = {socket.AF_INET: (2, 4), socket.AF_INET6: (6, 16)}  # of the address behind the family, and its length


@dataclass(frozen=True)
class Interface:
    """An interface that is up, with one of its addresses."""

    name: str
    address: str
    loopback: bool = False
    running: bool = True  # it has a carrier


class _Address(ctypes.Structure):
    _fields_ = [("family", ctypes.c_ushort), ("data", ctypes.c_ubyte * 26)]


class _Entry(ctypes.Structure):
    pass


_Entry._fields_ = [("next", ctypes.POINTER(_Entry)), ("name", ctypes.c_char_p), ("flags", ctypes.c_uint),
                   ("address", ctypes.POINTER(_Address)), ("others", ctypes.c_void_p * 3)]


def every() -> list[Interface]:
    """Returns all interfaces that are up, once for each address that other hosts understand; raises OSError."""
    system = ctypes.CDLL(None, use_errno=True)
    first = ctypes.POINTER(_Entry)()
    if system.getifaddrs(ctypes.byref(first)) != 0:
        raise OSError(ctypes.get_errno(), "getifaddrs")
    found, at = [], first
    while at:
        entry = at.contents
        at = entry.next
        if not entry.address or not entry.flags & _UP or entry.address.contents.family not in _OFFSETS:
            continue
        begin, length = _OFFSETS[entry.address.contents.family]
        address = ipaddress.ip_address(bytes(entry.address.contents.data[begin:begin + length]))
        if address.version == 4 or not address.is_link_local:
            found.append(Interface(entry.name.decode(errors="replace"), str(address), bool(entry.flags & _LOOPBACK), bool(entry.flags & _RUNNING)))
    system.freeifaddrs(first)
    return found


def speed(facts: Facts, interface: Interface) -> int:
    """Returns the speed that the driver states, in Mbit/s; 0 if it states none."""
    return max(facts.number(f"/sys/class/net/{interface.name}/speed") or 0, 0)


def is_on_hardware(facts: Facts, name: str, depth: int = 0) -> bool:
    """True if a device drives the interface, or one of those below it (a bond, a bridge or a VLAN has some)."""
    entries = facts.names(f"/sys/class/net/{name}")
    if "device" in entries or depth == _DEEPEST:
        return "device" in entries
    return any(is_on_hardware(facts, entry.removeprefix(_BELOW), depth + 1) for entry in entries if entry.startswith(_BELOW))


def wanted(facts: Facts) -> list[str]:
    return [name for name in facts.environment.get("HEADRACE_NETWORK_DEVICES", "").split(",") if name]


def best(facts: Facts, all_: Iterable[Interface]) -> Interface | None:
    """Returns the interface that a job on several hosts uses over TCP; None if there is none."""
    names = wanted(facts)
    usable = [each for each in all_ if (each.name in names if names else not each.loopback)]
    return max(usable, default=None,
               key=lambda each: (each.running, is_on_hardware(facts, each.name), "." in each.address, speed(facts, each)))
