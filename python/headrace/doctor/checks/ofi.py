"""Checks libfabric, the alternative to UCX for messages between hosts: its location and version, and which of the two a
job would use."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from headrace.bench.child import Failed
from headrace.doctor.checks import ucx
from headrace.doctor.facts import Facts
from headrace.doctor.finding import Finding, error, note, ok

_NAME = "libfabric.so.1"
_SECONDS = 5
_OLDEST = (1, 9)
_STARTS_ONE = (1, 19)  # oldest version that starts only the requested provider
_ASK = """import ctypes, sys
version = ctypes.CDLL(sys.argv[1]).fi_version()
path = [line.split()[-1] for line in open("/proc/self/maps") if "libfabric.so" in line][0]
print(f"found {version >> 16}.{version & 0xffff} {path}")"""
_INSTALL = "install it (Debian: libfabric1), or HEADRACE_OFI_DIR=<directory of libfabric.so.1>"


def find(facts: Facts) -> tuple[str, str] | str:
    """Returns version and path, or the reason why libfabric was not found."""
    named = facts.environment.get("HEADRACE_OFI_DIR")
    path = str(facts.path(named) / _NAME) if named else _NAME
    try:
        found = re.search(r"^found (\S+) (.+)$", facts.run([sys.executable, "-B", "-c", _ASK, path], _SECONDS, {}), re.MULTILINE)
        return (found[1], found[2]) if found else f"{path} told no version"
    except Failed as failed:
        said = [line for line in failed.said.splitlines() if "OSError" in line]
        return said[-1].partition("OSError: ")[2] if said else str(failed)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


def usable(facts: Facts) -> bool:
    """True if jobs can use the libfabric found."""
    opened = find(facts)
    return not isinstance(opened, str) and _numbers(opened[0]) >= _OLDEST


def _own_networks(facts: Facts) -> list[str]:
    """Returns the devices for which libfabric is preferred, as suits_host() in the library does."""
    verbs = [name for name in facts.names("/sys/class/infiniband") if name.startswith(("efa", "rdmap", "hfi1"))]
    return [name for name in facts.names("/sys/class/cxi") if name.startswith("cxi")] + verbs


def _choice(facts: Facts, here: bool) -> Iterator[Finding]:
    chosen = facts.environment.get("HEADRACE_NETWORK", "auto")
    own = _own_networks(facts)
    if chosen in ("ucx", "ofi"):
        name, why = ("libfabric" if chosen == "ofi" else "UCX"), f"HEADRACE_NETWORK is {chosen}"
    elif own and here:
        name, why = "libfabric", f"this host has {', '.join(own)}"
    elif not isinstance(ucx.find(facts), str):
        name, why = "UCX", "no Slingshot, EFA or Omni-Path here"
    elif here:
        name, why = "libfabric", "UCX is not found"
    else:
        return
    if own and not here and chosen != "ofi":
        yield note("ofi.own-network", f"this host has {', '.join(own)}, and libfabric is not found",
                   "messages to other hosts take a slower way", _INSTALL)
    yield ok("ofi.choice", f"messages to other hosts go by {name}: {why}")


def look(facts: Facts) -> Iterator[Finding]:
    opened = find(facts)
    here = not isinstance(opened, str)
    chosen = facts.environment.get("HEADRACE_NETWORK") == "ofi" or bool(facts.environment.get("HEADRACE_OFI_DIR"))
    if isinstance(opened, str):
        if chosen:
            yield error("ofi.missing", f"libfabric is not found: {opened}", "jobs stay on one host", _INSTALL)
        else:
            yield ok("ofi.absent", f"libfabric is not found ({opened}), and nothing asks for it")
    else:
        version, path = opened
        numbers = _numbers(version)
        if numbers < _OLDEST:
            here = False
            make = error if chosen else note
            yield make("ofi.old", f"libfabric {version} in {path}", "it lacks what Headrace needs (1.9)", _INSTALL)
        elif numbers < _STARTS_ONE:
            yield note("ofi.slow-start", f"libfabric {version} in {path}",
                       "each process starts all of its providers, and reads the kernel's symbols twice: MPI_Init takes longer",
                       "HEADRACE_OFI_DIR=<directory of libfabric 1.19 or newer>, where jobs use libfabric")
        else:
            yield ok("ofi.found", f"libfabric {version} in {path}")
    yield from _choice(facts, here)
