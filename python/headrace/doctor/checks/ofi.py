"""Checks libfabric, which carries messages between hosts with Slingshot, EFA or Omni-Path: its location and version."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.doctor import libraries
from headrace.doctor.checks import network
from headrace.doctor.facts import Facts
from headrace.doctor.finding import Finding, error, note, ok, warning
from headrace.doctor.libraries import OFI

_STARTS_ONE = (1, 19)  # oldest version that starts only the requested provider
_INSTALL = "install it (Debian: libfabric1), or HEADRACE_OFI_DIR=<directory of libfabric.so.1>"


def _unusable(facts: Facts, id_: str, evidence: str) -> Iterator[Finding]:
    """Yields findings about a libfabric that jobs cannot use: it matters where there is a network for it, or it was asked for."""
    named = "HEADRACE_OFI_DIR is set" if facts.environment.get("HEADRACE_OFI_DIR") else ""
    asked = libraries.selected_by(facts, OFI) or named
    own = libraries.ofi_devices(facts)
    if facts.environment.get("HEADRACE_NETWORK") == "ofi":
        yield error(id_, evidence, "HEADRACE_NETWORK is ofi: jobs stay on one host", f"unset it; {_INSTALL}")
        return
    cost = f"messages to other hosts go by {network.NAMES.get(network.choose(facts).transport, 'nothing')}"
    if asked:
        yield warning(id_, evidence, f"{asked} without effect: {cost}", _INSTALL)
    else:
        yield ok("ofi.absent", f"{evidence}, and nothing asks for it")
    if own:
        yield note("ofi.own-network", f"this host has {', '.join(own)}, and libfabric cannot be used", cost, _INSTALL)


def look(facts: Facts) -> Iterator[Finding]:
    opened = libraries.find(facts, OFI)
    if isinstance(opened, str):
        yield from _unusable(facts, "ofi.missing", f"libfabric is not found ({opened})")
        return
    version, path = opened
    if libraries.is_old(OFI, version):
        yield from _unusable(facts, "ofi.old", f"libfabric {version} in {path} lacks what Headrace needs (1.9)")
    elif libraries.numbers(version) < _STARTS_ONE and network.choose(facts).transport == "ofi":
        yield note("ofi.slow-start", f"libfabric {version} in {path}",
                   "each process starts all of its providers, and reads the kernel's symbols twice: MPI_Init takes longer",
                   "HEADRACE_OFI_DIR=<directory of libfabric 1.19 or newer>")
    else:
        yield ok("ofi.found", f"libfabric {version} in {path}")
