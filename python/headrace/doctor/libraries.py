"""The network libraries UCX and libfabric: where jobs find them, their versions, and what selects them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from headrace.bench.child import Failed
from headrace.doctor.facts import Facts

UCX, OFI = "libucp.so.0", "libfabric.so.1"
SECONDS = 5
_OLDEST = {UCX: (1, 14), OFI: (1, 9)}
_ASK = {UCX: """import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.ucp_get_version_string.restype = ctypes.c_char_p
path = [line.split()[-1] for line in open("/proc/self/maps") if "libucp.so" in line][0]
print("found", library.ucp_get_version_string().decode(), path)""",
        OFI: """import ctypes, sys
version = ctypes.CDLL(sys.argv[1]).fi_version()
path = [line.split()[-1] for line in open("/proc/self/maps") if "libfabric.so" in line][0]
print(f"found {version >> 16}.{version & 0xffff} {path}")"""}


def candidates(facts: Facts, library: str) -> list[str]:
    """Returns the paths at which a job searches, in the same order."""
    named = facts.environment.get("HEADRACE_UCX_DIR" if library == UCX else "HEADRACE_OFI_DIR")
    if named:
        return [str(facts.path(named) / library)]
    beside = sorted(facts.prefix.glob(f"lib/python3*/*-packages/libucx/lib/{UCX}")) if facts.prefix and library == UCX else []
    return [library, *map(str, beside)]


def find(facts: Facts, library: str) -> tuple[str, Path] | str:
    """Returns version and path, or the reason why the library was not found."""
    why = ""
    for path in candidates(facts, library):
        try:
            text = facts.run([sys.executable, "-B", "-c", _ASK[library], path], SECONDS, {})
            found = re.search(r"^found (\S+) (.+)$", text, re.MULTILINE)  # the library may have printed something itself
            if found:
                return found[1], Path(found[2])
            why = why or f"{path} told no version"
        except Failed as failed:
            said = [line for line in failed.said.splitlines() if "OSError" in line]
            why = why or (said[-1].partition("OSError: ")[2] if said else str(failed))
    return why


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


def is_old(library: str, version: str) -> bool:
    return numbers(version) < _OLDEST[library]


def is_usable(facts: Facts, library: str) -> bool:
    """True if jobs can open the library."""
    opened = find(facts, library)
    return not isinstance(opened, str) and not is_old(library, opened[0])


def ofi_devices(facts: Facts) -> list[str]:
    """Returns the devices for which libfabric is preferred, as suits_host() in src/transport/ofi does."""
    verbs = [name for name in facts.rdma_devices() if name.startswith(("efa", "rdmap", "hfi1"))]
    return facts.cxi_devices() + verbs


def selected_by(facts: Facts, library: str) -> str:
    """Returns the setting by which a job with HEADRACE_NETWORK=auto takes this library, as suits_host() does; empty if there
    is none."""
    environment = facts.environment
    if library == OFI:
        return "HEADRACE_OFI_PROVIDER is set" if environment.get("HEADRACE_OFI_PROVIDER") else ""
    return next((f"{name} is on" for name in ("HEADRACE_RMA_NETWORK", "HEADRACE_DEVICE_NETWORK_DIRECT")
                 if environment.get(name) == "on"), "")
