"""Checks the NUMA distance of GPUs and RDMA devices from the usable CPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from headrace.doctor.facts import Facts, cpu_list
from headrace.doctor.finding import Finding, note, ok, warning

# Vendors, and the PCI classes of their GPUs; AMD compute GPUs are display controllers or accelerators.
_GPU_CLASSES = {"0x10de": ("0x0300", "0x0302"), "0x1002": ("0x0302", "0x0380", "0x1200")}


def _nodes(facts: Facts) -> dict[int, frozenset[int]]:
    """Returns the CPUs by node."""
    names = [name for name in facts.names("/sys/devices/system/node") if re.fullmatch(r"node\d+", name)]
    return {int(name[4:]): cpu_list(facts.read(f"/sys/devices/system/node/{name}/cpulist") or "") for name in names}


def _gpus(facts: Facts) -> dict[str, int]:
    """Returns the node of each GPU, by address; -1: the machine does not report it."""
    where = "/sys/bus/pci/devices"
    return {f"GPU {name}": _node(facts, f"{where}/{name}") for name in facts.names(where)
            if (facts.read(f"{where}/{name}/class") or "").startswith(_GPU_CLASSES.get(facts.read(f"{where}/{name}/vendor") or "", ("none",)))}


def _node(facts: Facts, device: str) -> int:
    number = facts.number(f"{device}/numa_node")
    return -1 if number is None else number


def look(facts: Facts) -> Iterator[Finding]:
    nodes = _nodes(facts)
    gpus = _gpus(facts)
    cards = {name: _node(facts, f"/sys/class/infiniband/{name}/device") for name in facts.rdma_devices()}
    if len(nodes) < 2 or not (gpus or cards):
        what = f"{len(gpus)} GPUs and {len(cards)} RDMA devices" if gpus or cards else "no GPU and no RDMA device"
        yield ok("distance.near", f"{what}, {len(nodes)} NUMA node{'s' if len(nodes) != 1 else ''}: nothing is far")
        return
    near = {node for node, cpus in nodes.items() if cpus & facts.affinity}
    unknown = [name for name, node in {**gpus, **cards}.items() if node not in nodes]
    far = {name: node for name, node in gpus.items() if node in nodes and node not in near}
    if unknown:
        yield note("distance.unknown", f"the machine does not say at which of its {len(nodes)} NUMA nodes these are: {', '.join(unknown)}",
                   "mpiexec and CUDA cannot put ranks near to them", "the firmware's setting of NUMA and PCIe; in a virtual machine its "
                   "description of the devices")
    if far:
        yield warning("distance.gpu-far", "; ".join(f"{name} is at NUMA node {node}" for name, node in far.items()) +
                      f", and this process may use CPUs of node {_list(near)} alone", "copies between host and GPU cross the sockets' link",
                      "ask for CPUs near the GPUs (Slurm: --gpus-per-task with --gpu-bind=closest; docker: --cpuset-cpus)")
    if cards and not any(node in near or node not in nodes for node in cards.values()):
        yield warning("distance.nic-far", "; ".join(f"{name} is at NUMA node {node}" for name, node in cards.items()) +
                      f", and this process may use CPUs of node {_list(near)} alone", "messages to other hosts cross the sockets' link",
                      "ask for CPUs near the network card, or for all of the node")
    lonely = [name for name, node in gpus.items() if node in nodes and cards and node not in cards.values()]
    if lonely:
        yield note("distance.gpu-without-nic", f"at the NUMA nodes of these there is no RDMA device: {', '.join(lonely)}",
                   "their messages to other hosts cross the sockets' link", "ranks that send most to other hosts on the other GPUs "
                   "(headrace map shows distances)")
    if not far and not unknown and not lonely:
        yield ok("distance.near", f"{len(gpus)} GPUs and {len(cards)} RDMA devices, at NUMA nodes whose CPUs may be used")


def _list(nodes: set[int]) -> str:
    return ", ".join(map(str, sorted(nodes))) or "none"
