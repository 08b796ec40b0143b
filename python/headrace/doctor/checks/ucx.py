"""Checks UCX, which carries messages between hosts: its location, version, transports and devices, and variables that restrict
them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from headrace.bench.child import Failed
from headrace.doctor.checks import ofi
from headrace.doctor.facts import Facts, is_file
from headrace.doctor.finding import Finding, error, note, ok, warning

_NAME = "libucp.so.0"
_SECONDS = 5
_OLDEST = (1, 14)
_LOCAL = {"self", "sysv", "posix", "cma", "xpmem", "knem", "cuda_copy", "cuda_ipc"}
_ASK = """import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.ucp_get_version_string.restype = ctypes.c_char_p
path = [line.split()[-1] for line in open("/proc/self/maps") if "libucp.so" in line][0]
print("found", library.ucp_get_version_string().decode(), path)"""


def candidates(facts: Facts) -> list[str]:
    """Returns the paths that the library searches, in the same order."""
    named = facts.environment.get("HEADRACE_UCX_DIR")
    if named:
        return [str(facts.path(named) / _NAME)]
    beside = sorted(facts.prefix.glob(f"lib/python3*/*-packages/libucx/lib/{_NAME}")) if facts.prefix else []
    return [_NAME, *map(str, beside)]


def find(facts: Facts) -> tuple[str, Path] | str:
    """Returns version and path, or the reason why UCX was not found."""
    why = ""
    for path in candidates(facts):
        try:
            text = facts.run([sys.executable, "-B", "-c", _ASK, path], _SECONDS, {})
            found = re.search(r"^found (\S+) (.+)$", text, re.MULTILINE)  # UCX may have printed something itself
            if found:
                return found[1], Path(found[2])
            why = why or f"{path} told no version"
        except Failed as failed:
            said = [line for line in failed.said.splitlines() if "OSError" in line]
            why = why or (said[-1].partition("OSError: ")[2] if said else str(failed))
    return why


def _transports(facts: Facts, library: Path) -> dict[str, list[str]]:
    """Returns the devices of each transport, from ucx_info -d; raises Failed if it cannot be run."""
    tool = library.parent.parent / "bin" / "ucx_info"
    command = str(tool) if is_file(tool) else str((facts.programs("ucx_info") or ["ucx_info"])[0])
    libraries = ":".join(filter(None, [str(library.parent), facts.environment.get("LD_LIBRARY_PATH")]))
    text = facts.run([command, "-d"], _SECONDS, {"LD_LIBRARY_PATH": libraries})
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
    opened = find(facts)
    if isinstance(opened, str):
        return "UCX is not found, without which no rank listens"
    try:
        return _networks(_transports(facts, opened[1]))
    except Failed as failed:
        return f"UCX cannot be asked for its devices ({failed})"


def _networks(transports: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: devices for name, devices in transports.items() if name not in _LOCAL}


def _devices(facts: Facts, network: dict[str, list[str]]) -> Iterator[Finding]:
    there = {device for devices in network.values() for device in devices}
    for variable in ("UCX_NET_DEVICES", "HEADRACE_NETWORK_DEVICES"):
        wanted = [name for name in facts.environment.get(variable, "").split(",") if name and name != "all"]
        missing = [name for name in wanted if not any(device == name or device.startswith(name + ":") for device in there)]
        if missing:
            yield error("ucx.no-such-device", f"{variable} names {', '.join(missing)}; there is {', '.join(sorted(there)) or 'none'}",
                        "jobs that span hosts do not start, or lack a path", f"correct or unset {variable}")
        elif wanted:
            yield note("ucx.devices-chosen", f"{variable} is {','.join(wanted)}", "other networks are not used", "")


def _chosen_transports(facts: Facts, network: dict[str, list[str]]) -> Iterator[Finding]:
    text = facts.environment.get("UCX_TLS")
    if text is None:
        return
    names = text.lstrip("^").split(",")
    hit = [name for name in network if any(name == word or name.startswith(word + "_") for word in names)
           or ({"ib", "rc", "ud", "dc", "rc_x"} & set(names) and name.split("_")[0] in ("rc", "ud", "dc"))]
    left = [name for name in network if (name in hit) == (not text.startswith("^"))]
    if network and not left and "all" not in names:
        yield error("ucx.no-network-left", f"UCX_TLS is {text}: none of {', '.join(network)} is left",
                    "jobs that span hosts do not start", "unset UCX_TLS")
    else:
        yield note("ucx.transports-chosen", f"UCX_TLS is {text}", "UCX takes no other transports, faster ones included",
                   "unset it where it is not meant")


def look(facts: Facts) -> Iterator[Finding]:
    opened = find(facts)
    if isinstance(opened, str):
        install = "pip install 'headrace[ucx]', or HEADRACE_UCX_DIR=<directory of libucp.so.0>"
        asked = facts.environment.get("HEADRACE_NETWORK") == "ucx" or bool(facts.environment.get("HEADRACE_UCX_DIR"))
        if ofi.usable(facts) and not asked:
            yield note("ucx.missing", f"UCX is not found: {opened}", "messages to other hosts go by libfabric", install)
            return
        several = "SLURM_JOB_NUM_NODES" in facts.environment and facts.environment["SLURM_JOB_NUM_NODES"] != "1"
        yield (error if several or asked else note)("ucx.missing", f"UCX is not found: {opened}", "jobs stay on one host", install)
        return
    version, path = opened
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < _OLDEST:
        yield error("ucx.old", f"UCX {version} in {path}", "it lacks what Headrace needs (1.14): jobs stay on one host",
                    "pip install 'headrace[ucx]', and HEADRACE_UCX_DIR if the old one comes first")
        return
    try:
        transports = _transports(facts, path)
    except Failed as failed:
        yield ok("ucx.found", f"UCX {version} in {path.parent}; its transports were not listed ({failed})")
        return
    network = _networks(transports)
    shown = "; ".join(f"{name} ({', '.join(dict.fromkeys(devices))})" for name, devices in network.items()) or "none"
    yield ok("ucx.found", f"UCX {version} in {path.parent}; network transports: {shown}")
    rdma = facts.rdma_devices()
    if rdma and set(network) <= {"tcp"}:
        yield warning("ucx.tcp-alone", f"there are RDMA devices ({', '.join(rdma)}), and this UCX has TCP alone",
                      "messages to other hosts take the slow way", "use a UCX built with verbs (the system's): "
                      "HEADRACE_UCX_DIR=<directory of libucp.so.0>; in a container: --device /dev/infiniband")
    yield from _devices(facts, network)
    yield from _chosen_transports(facts, network)
