"""Checks which transport carries messages to other hosts, and why; and the interface that it uses over TCP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.doctor import interfaces, libraries
from headrace.doctor.facts import Facts
from headrace.doctor.finding import Finding, error, note, ok, warning
from headrace.doctor.interfaces import Interface

NAMES = {"ofi": "libfabric", "ucx": "UCX", "tcp": "TCP, without a library"}
_LIBRARIES = {"ofi": libraries.OFI, "ucx": libraries.UCX}


@dataclass(frozen=True)
class Choice:
    transport: str  # "ofi", "ucx", "tcp"; empty: none
    why: str


def _allowed(facts: Facts) -> tuple[list[str], str]:
    """Returns the transports that the settings allow, in the order in which a job tries them, and the setting that excludes
    others."""
    wanted = facts.environment.get("HEADRACE_NETWORK") or "auto"
    listed = facts.environment.get("HEADRACE_TRANSPORTS") or "auto"
    names = [name for name in NAMES if listed == "auto" or name in listed.split(",")]
    if wanted in NAMES:
        return [name for name in names if name == wanted], f"HEADRACE_NETWORK is {wanted}"
    return names, f"HEADRACE_TRANSPORTS is {listed}"


def _suits(facts: Facts, name: str) -> str:
    """Returns why the transport suits this host; empty if it does not."""
    if name == "tcp":
        return facts.unusable_device() or "this host has no other network, and no setting selects a library"
    devices = libraries.ofi_devices(facts) if name == "ofi" else facts.rdma_devices()
    return f"this host has {', '.join(devices)}" if devices else libraries.selected_by(facts, _LIBRARIES[name])


def choose(facts: Facts) -> Choice:
    """Returns the transport between hosts, as make_network() in src/transport/registry.cpp does, except that
    a job also passes over a library that finds no network."""
    names, setting = _allowed(facts)
    if len(names) < 2:
        return Choice(names[0] if names else "", setting)

    def opens(name: str) -> bool:
        return name == "tcp" or libraries.is_usable(facts, _LIBRARIES[name])

    missed = ""
    for name in names:
        why = _suits(facts, name)
        if why and opens(name):
            return Choice(name, missed or why)
        if why:
            missed = missed or f"{NAMES[name]} cannot be used, although {why}"
    return Choice(next(filter(opens, names), names[0]), setting)


def interface(facts: Facts) -> Interface | None:
    return interfaces.best(facts, facts.interfaces())


def _text(facts: Facts, one: Interface) -> str:
    speed = interfaces.speed(facts, one)
    return f"{one.name} ({one.address}{f', {speed / 1000:g} Gbit/s' if speed else ''})"


def _interface(facts: Facts) -> Iterator[Finding]:
    there = facts.interfaces()
    names = ", ".join(dict.fromkeys(each.name for each in there)) or "none"
    wanted = interfaces.wanted(facts)
    one = interfaces.best(facts, there)
    if one is None and wanted:
        yield error("network.no-such-interface",
                    f"HEADRACE_NETWORK_DEVICES is {','.join(wanted)}; interfaces that are up and have an address: {names}",
                    "jobs that span hosts do not start", "correct or unset HEADRACE_NETWORK_DEVICES")
    elif one is None:
        yield note("network.no-interface", f"no interface but the loopback is up and has an address (there is: {names})",
                   "jobs stay on one host", "")
    elif wanted:
        yield note("network.interface-chosen", f"HEADRACE_NETWORK_DEVICES is {','.join(wanted)}: ranks use {_text(facts, one)}",
                   "other networks are not used", "")
    else:
        others = list(dict.fromkeys(each.name for each in there if not each.loopback and each.name != one.name))
        more = f", rather than {', '.join(others)}; HEADRACE_NETWORK_DEVICES chooses another" if others else ""
        yield ok("network.interface", f"ranks use {_text(facts, one)}{more}")


def look(facts: Facts) -> Iterator[Finding]:
    chosen = choose(facts)
    if not chosen.transport:
        yield warning("network.none", f"no transport to other hosts is left: {chosen.why}", "jobs stay on one host",
                      "unset HEADRACE_NETWORK or HEADRACE_TRANSPORTS, or let them name the same transport")
        return
    if unusable := facts.unusable_device():
        yield note("network.adapter-unusable", unusable, "messages to other hosts do not use it",
                   "in a container: --device /dev/infiniband (Slingshot: /dev/cxi0); elsewhere: the permissions of the file")
    yield ok("network.choice", f"messages to other hosts go by {NAMES[chosen.transport]}: {chosen.why}")
    if chosen.transport == "tcp":
        yield from _interface(facts)
