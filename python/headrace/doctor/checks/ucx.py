"""Checks UCX, which carries messages between hosts with InfiniBand or RoCE: its location, version, transports and devices,
and variables that restrict them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from headrace.bench.child import Failed
from headrace.doctor import libraries
from headrace.doctor.checks import network
from headrace.doctor.facts import Facts, is_file
from headrace.doctor.finding import Finding, error, note, ok, warning
from headrace.doctor.libraries import UCX

_LOCAL = {"self", "sysv", "posix", "cma", "xpmem", "knem", "cuda_copy", "cuda_ipc"}
_INSTALL = "pip install 'headrace[ucx]', or HEADRACE_UCX_DIR=<directory of libucp.so.0>"


def _transports(facts: Facts, library: Path) -> dict[str, list[str]]:
    """Returns the devices of each transport, from ucx_info -d; raises Failed if it cannot be run."""
    tool = library.parent.parent / "bin" / "ucx_info"
    command = str(tool) if is_file(tool) else str((facts.programs("ucx_info") or ["ucx_info"])[0])
    paths = ":".join(filter(None, [str(library.parent), facts.environment.get("LD_LIBRARY_PATH")]))
    text = facts.run([command, "-d"], libraries.SECONDS, {"LD_LIBRARY_PATH": paths})
    found: dict[str, list[str]] = {}
    transport = ""
    for kind, name in re.findall(r"^#\s+(Transport|Device): (\S+)", text, re.MULTILINE):
        if kind == "Transport":
            transport = name
            found.setdefault(name, [])
        else:
            found[transport].append(name)
    return found


def network_devices(facts: Facts) -> dict[str, list[str]] | str:
    """Returns the devices of each network transport, or the reason why they are not known."""
    opened = libraries.find(facts, UCX)
    if isinstance(opened, str):
        return f"UCX is not found: {opened}"
    try:
        return _networks(_transports(facts, opened[1]))
    except Failed as failed:
        return f"UCX cannot be asked for its devices ({failed})"


def _networks(transports: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: devices for name, devices in transports.items() if name not in _LOCAL}


def takes_tcp(facts: Facts) -> bool:
    """True if UCX may use TCP, as paths_of_ucx() in src/transport/ucx decides."""
    text = facts.environment.get("UCX_TLS")
    if text is None:
        devices = facts.environment.get("UCX_NET_DEVICES") or facts.environment.get("HEADRACE_NETWORK_DEVICES")
        return not facts.rdma_devices() or facts.environment.get("HEADRACE_NETWORK") == "ucx" or devices == "lo"
    named = bool({"tcp", "all"} & set(text.lstrip("^").split(",")))
    return named != text.startswith("^")


def _devices(facts: Facts, networks: dict[str, list[str]]) -> Iterator[Finding]:
    there = {device for devices in networks.values() for device in devices}
    for variable in ("UCX_NET_DEVICES", "HEADRACE_NETWORK_DEVICES"):
        wanted = [name for name in facts.environment.get(variable, "").split(",") if name and name != "all"]
        missing = [name for name in wanted if not any(device == name or device.startswith(name + ":") for device in there)]
        if missing:
            yield error("ucx.no-such-device", f"{variable} names {', '.join(missing)}; there is {', '.join(sorted(there)) or 'none'}",
                        "jobs that span hosts do not start, or lack a path", f"correct or unset {variable}")
        elif wanted:
            yield note("ucx.devices-chosen", f"{variable} is {','.join(wanted)}", "other networks are not used", "")


def _chosen_transports(facts: Facts, networks: dict[str, list[str]]) -> Iterator[Finding]:
    text = facts.environment.get("UCX_TLS")
    if text is None:
        return
    names = text.lstrip("^").split(",")
    hit = [name for name in networks if any(name == word or name.startswith(word + "_") for word in names)
           or ({"ib", "rc", "ud", "dc", "rc_x"} & set(names) and name.split("_")[0] in ("rc", "ud", "dc"))]
    left = [name for name in networks if (name in hit) == (not text.startswith("^"))]
    if networks and not left and "all" not in names:
        yield error("ucx.no-network-left", f"UCX_TLS is {text}: none of {', '.join(networks)} is left",
                    "jobs that span hosts do not start", "unset UCX_TLS")
    else:
        yield note("ucx.transports-chosen", f"UCX_TLS is {text}", "UCX takes no other transports, faster ones included",
                   "unset it where it is not meant")


def _unusable(facts: Facts, id_: str, evidence: str) -> Finding:
    """Returns the finding about a UCX that jobs cannot use: it matters where there is a network for it, or it was asked for."""
    asked = libraries.selected_by(facts, UCX)
    rdma = [name for name in facts.rdma_devices() if name not in libraries.ofi_devices(facts)]
    if facts.environment.get("HEADRACE_NETWORK") == "ucx":
        return error(id_, evidence, "HEADRACE_NETWORK is ucx: jobs stay on one host", f"unset it; {_INSTALL}")
    cost = f"messages to other hosts go by {network.NAMES.get(network.choose(facts).transport, 'nothing')}"
    if facts.environment.get("HEADRACE_UCX_DIR"):
        return warning(id_, evidence, f"HEADRACE_UCX_DIR is set without effect: {cost}", _INSTALL)
    if rdma or asked:
        reason = f"this host has {', '.join(rdma)}" if rdma else asked
        return note(id_, f"{evidence}; {reason}", cost, _INSTALL)
    return ok("ucx.absent", f"{evidence}; nothing here needs it")


def look(facts: Facts) -> Iterator[Finding]:
    opened = libraries.find(facts, UCX)
    if isinstance(opened, str):
        yield _unusable(facts, "ucx.missing", f"UCX is not found ({opened})")
        return
    version, path = opened
    if libraries.is_old(UCX, version):
        yield _unusable(facts, "ucx.old", f"UCX {version} in {path} lacks what Headrace needs (1.14)")
        return
    try:
        transports = _transports(facts, path)
    except Failed as failed:
        yield ok("ucx.found", f"UCX {version} in {path.parent}; its transports were not listed ({failed})")
        return
    there = _networks(transports)
    shown = "; ".join(f"{name} ({', '.join(dict.fromkeys(devices))})" for name, devices in there.items()) or "none"
    yield ok("ucx.found", f"UCX {version} in {path.parent}; network transports: {shown}")
    if network.choose(facts).transport != "ucx":
        return
    rdma = facts.rdma_devices()
    if rdma and set(there) <= {"tcp"}:
        evidence = f"there are RDMA devices ({', '.join(rdma)}), and this UCX has TCP alone"
        remedy = ("use a UCX built with verbs (the system's): HEADRACE_UCX_DIR=<directory of libucp.so.0>; in a container: "
                  "--device /dev/infiniband")
        if takes_tcp(facts):
            yield warning("ucx.tcp-alone", evidence, "messages to other hosts take the slow way", remedy)
        else:
            yield error("ucx.tcp-alone", f"{evidence}, which authenticates nobody and is not used",
                        "jobs that span hosts end at their first message", f"{remedy}; or HEADRACE_NETWORK=tcp: TCP without UCX")
    yield from _devices(facts, there)
    yield from _chosen_transports(facts, there)
