"""Checks the reachability of ranks over TCP: where ranks would listen, and where running ranks listen."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator

from headrace.doctor.checks import network, ucx
from headrace.doctor.facts import Facts
from headrace.doctor.finding import Finding, note, ok

_LISTENS = "0A"
_LOOPBACK = "lo"
_ANYBODY = "UCX does not authenticate peers: anyone who can reach these addresses can read and write the memory of such a rank"
_ANYBODY_OFI = ("libfabric accepts every connection: messages and accesses without the job's secrets are dropped, but anyone who can "
                "reach these addresses can use up memory and connections of such a rank, or delay it")
_ANYBODY_TCP = ("a connection must prove that it knows a key of the job, before anything else is read; but nothing is encrypted: anyone who "
                "can watch the network between the hosts can read messages, and anyone who can change its packets can forge them")
_REMEDY = ("let only the hosts of the job reach them: HEADRACE_NETWORK_DEVICES names a private network, or a firewall shuts the "
           "others out; mpiexec --as-hosts keeps to the loopback")


def _devices(facts: Facts, there: list[str]) -> list[str]:
    """Returns the devices that UCX would use over TCP."""
    text = facts.environment.get("UCX_NET_DEVICES") or facts.environment.get("HEADRACE_NETWORK_DEVICES") or "all"
    names = text.split(",")
    return [device for device in there if "all" in names or device in names]


def _would(where: str, cost: str) -> Finding:
    if not where:
        return ok("listening.would-not", "no rank would listen on TCP outside the loopback")
    return note("listening.would", f"ranks of a job that spans hosts would listen on TCP, on {where}", cost, _REMEDY)


def _over_ucx(facts: Facts) -> Finding:
    there = ucx.network_devices(facts)
    if isinstance(there, str):
        return ok("listening.unknown", there)
    devices = _devices(facts, there.get("tcp", [])) if ucx.takes_tcp(facts) else []
    outside = [device for device in dict.fromkeys(devices) if device != _LOOPBACK]
    return _would(f"the addresses of {', '.join(outside)}" if outside else "", _ANYBODY)


def _over_libfabric(facts: Facts) -> Finding:
    provider = facts.environment.get("HEADRACE_OFI_PROVIDER", "")
    by_tcp = provider.startswith("tcp") if provider else not facts.rdma_devices() and not facts.cxi_devices()
    names = facts.environment.get("HEADRACE_NETWORK_DEVICES") or "the interface that libfabric chooses"
    return _would(f"one address of {names}" if by_tcp and names != _LOOPBACK else "", _ANYBODY_OFI)


def _configuration(facts: Facts) -> Iterator[Finding]:
    transport = network.choose(facts).transport
    if transport == "ucx":
        yield _over_ucx(facts)
    elif transport == "ofi":
        yield _over_libfabric(facts)
    else:
        one = network.interface(facts) if transport else None
        outside = one is not None and not one.loopback
        yield _would(f"the address {one.address} of {one.name}" if outside else "", _ANYBODY_TCP)


def _address(text: str) -> str:
    """Parses an address in /proc/net/tcp, which consists of words in the machine's byte order."""
    words = (bytes.fromhex(text[at:at + 8])[::-1] for at in range(0, len(text), 8))
    return str(ipaddress.ip_address(b"".join(words)))


def _sockets(facts: Facts, process: str) -> set[str]:
    found = set()
    for name in facts.names(f"/proc/{process}/fd"):
        try:
            target = os.readlink(facts.path(f"/proc/{process}/fd/{name}"))
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def _listens_on(facts: Facts, process: str) -> list[str]:
    """Returns listening addresses other than the loopback, with their ports."""
    own, found = _sockets(facts, process), []
    for table in ("tcp", "tcp6") if own else ():
        for line in (facts.read(f"/proc/{process}/net/{table}") or "").splitlines()[1:]:
            fields = line.split()
            if len(fields) < 10 or fields[3] != _LISTENS or fields[9] not in own:
                continue
            text, _, port = fields[1].partition(":")
            address = _address(text)
            if not ipaddress.ip_address(address).is_loopback:
                found.append(f"{address} port {int(port, 16)}")
    return found


def _is_ours(facts: Facts, mapped: str) -> bool:
    """False if the process may have loaded another MPI library only."""
    return "libmpi_abi.so" in mapped or bool(facts.prefix and f"{facts.prefix}/lib/libmpi.so.12" in mapped)


def _ranks(facts: Facts) -> Iterator[Finding]:
    """Returns processes that have loaded this library and listen, as far as this user may examine them."""
    for process in filter(str.isdigit, facts.names("/proc")):
        mapped = facts.read(f"/proc/{process}/maps") or ""
        if "libmpi" not in mapped:
            continue
        cost = _ANYBODY if "libucp" in mapped else _ANYBODY_OFI if "libfabric" in mapped else _ANYBODY_TCP if _is_ours(facts, mapped) else ""
        if not cost:
            continue
        if addresses := _listens_on(facts, process):
            name = facts.read(f"/proc/{process}/comm") or "?"
            yield note("listening.rank", f"process {process} ({name}), a rank, listens on {', '.join(addresses)}", cost, _REMEDY)


def look(facts: Facts) -> Iterator[Finding]:
    yield from _configuration(facts)
    yield from _ranks(facts)
