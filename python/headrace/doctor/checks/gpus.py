"""NVIDIA GPUs: facts from the driver and NVML (headrace/doctor/gpu.py), and variables that change them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator

from headrace.bench.child import Failed
from headrace.doctor.facts import Facts
from headrace.doctor.finding import Finding, error, note, ok, warning

_REASONS = {
    100: ("the driver sees no device", "docker run --gpus all; CUDA_VISIBLE_DEVICES; nvidia-smi"),
    101: ("the driver refuses a device", "nvidia-smi shows which, and why"),
    802: ("the system is not ready yet", "on machines with NVSwitch: systemctl start nvidia-fabricmanager"),
    803: ("the library and the kernel module are of different versions", "reboot, or load the module anew; in a container take "
          "the host's libcuda.so.1"),
    804: ("forward compatibility is not for this hardware", "take the compat directory out of LD_LIBRARY_PATH"),
    999: ("the driver failed", "nvidia-smi and dmesg say more; often: modprobe nvidia-uvm"),
}
_CLOCKS_SET = 0x2
_SLOWED = {0x8: "hardware slowdown", 0x20: "too hot (software)", 0x40: "too hot (hardware)", 0x80: "power brake"}
_IDENTIFIER = re.compile(r"(GPU|MIG)-[0-9a-fA-F]{1,8}.*")
_MPS = ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT")


def _hardware(facts: Facts) -> list[str]:
    return [name for name in facts.names("/dev") if re.fullmatch(r"nvidia\d+", name)]


def _visible(facts: Facts, on_machine: int | None) -> Iterator[Finding]:
    text = facts.environment.get("CUDA_VISIBLE_DEVICES")
    if text is None:
        return
    words = [word.strip() for word in text.split(",")]
    if on_machine == 0:
        return
    if text.strip() in ("", "-1", "NoDevFiles"):
        yield warning("gpu.all-hidden", f"no GPU is visible: CUDA_VISIBLE_DEVICES is {text.strip() or 'empty'}", "programs see no GPU",
                      "unset it, or name some; a script that takes the number from a variable of another launcher may find none")
        return
    odd = []
    for word in words:
        if word.isdigit():
            if on_machine is not None and int(word) >= on_machine:
                odd.append(f"{word} (there are {on_machine}, from 0)")
        elif not _IDENTIFIER.fullmatch(word):
            odd.append(f"\"{word}\" (no number and no UUID)")
    odd += [f"{word} twice" for word, count in Counter(words).items() if count > 1]
    if odd:
        yield warning("gpu.odd-visible", f"CUDA_VISIBLE_DEVICES is {text}: {'; '.join(odd)}",
                      "the driver ignores that entry and all after it; one named twice hides all", "correct it: 0,1,... or UUIDs")
    else:
        yield note("gpu.some-visible", f"CUDA_VISIBLE_DEVICES is {text}", "programs see those alone; ranks that see different "
                   "ones reach each other's by IPC only where the driver lets them", "leave it unset: mpiexec's ranks see all")


def _peers(devices: list[dict]) -> Iterator[Finding]:
    apart = [f"{one}-{other}" for one, device in enumerate(devices) for other, reach in enumerate(device["peers"])
             if one != other and not reach]
    pairs = len(devices) * (len(devices) - 1)
    if apart:
        shown = ", ".join(apart[:8]) + (", ..." if len(apart) > 8 else "")
        yield warning("gpu.no-peer-access", f"{len(apart)} of {pairs} ordered pairs of GPUs have no peer access: {shown}",
                      "messages between them go through the host's memory", "nvidia-smi topo -p2p r says why (IOMMU/ACS, "
                      "virtual machine, kinds of GPUs); keep ranks that talk much on GPUs that reach each other")
    elif pairs:
        yield ok("gpu.peer-access", f"all {pairs} ordered pairs of GPUs have peer access")


def _abilities(devices: list[dict]) -> Iterator[Finding]:
    def lacking(name: str) -> list[str]:
        return [str(index) for index, device in enumerate(devices) if device["attributes"].get(name) == 0]

    if lacking("unified_addressing"):
        yield error("gpu.no-unified-addressing", f"GPUs without unified addressing: {', '.join(lacking('unified_addressing'))}",
                    "the library cannot tell device memory from the host's", "a 64-bit driver in its default mode (not WSL 1, vGPU)")
    if lacking("ipc_events"):
        yield warning("gpu.no-ipc", f"GPUs whose driver has no IPC: {', '.join(lacking('ipc_events'))}",
                      "messages between ranks on GPUs go through the host's memory", "Linux on hardware, or a driver that has it")
    if lacking("chunk_descriptors") or lacking("vmm"):
        yield note("gpu.no-vmm-export", "memory of pools and of cuMemCreate cannot be given to other processes by descriptor",
                   "messages from it are staged", "cudaMalloc for buffers of messages")
    exclusive = [str(index) for index, device in enumerate(devices) if device["attributes"].get("compute_mode") in (2, 3)]
    if exclusive:
        yield warning("gpu.exclusive", f"GPUs in exclusive or prohibited compute mode: {', '.join(exclusive)}",
                      "a second rank on such a GPU gets an error; so may a copy from a neighbour's GPU",
                      "as root: nvidia-smi -c DEFAULT, or start MPS")


def _mps(facts: Facts) -> Iterator[Finding]:
    set_ = [f"{name}={facts.environment[name]}" for name in _MPS if name in facts.environment]
    pipe = facts.environment.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")
    running = os.path.exists(facts.path(f"{pipe}/control"))
    if "CUDA_MPS_PIPE_DIRECTORY" in facts.environment and not running:
        yield warning("gpu.mps-absent", f"{', '.join(set_)}, and there is no {pipe}/control",
                      "ranks on one GPU take turns; or CUDA fails to start", "start it (nvidia-cuda-mps-control -d), or unset the variables")
    elif running:
        yield note("gpu.mps", f"MPS runs ({pipe}/control)" + (f"; {', '.join(set_)}" if set_ else ""),
                   "ranks on one GPU compute at the same time; a fault of one ends all", "")
    elif set_:
        yield note("gpu.mps-variables", f"{', '.join(set_)}, without MPS", "they have no effect", "unset them")


def _clocks(devices: list[dict]) -> Iterator[Finding]:
    """Returns the reasons that currently reduce the clocks; an idle GPU is slow without any reason."""
    def with_clock(index: int, why: str) -> str:
        device = devices[index]
        return f"GPU {index}: {why}" + (f" ({device['clock']} of {device['most']} MHz)" if device.get("clock") and device.get("most") else "")

    held = {index: [why for bit, why in _SLOWED.items() if (device.get("slowed") or 0) & bit] for index, device in enumerate(devices)}
    slowed = [with_clock(index, ", ".join(why)) for index, why in held.items() if why]
    if slowed:
        yield warning("gpu.slowed", "clocks are held down: " + "; ".join(slowed), "kernels and copies take longer than on other machines",
                      "cooling and power supply: nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER")
    set_ = [with_clock(index, "set") for index, device in enumerate(devices) if (device.get("slowed") or 0) & _CLOCKS_SET]
    if set_:
        yield note("gpu.clocks-set", "clocks have been set below what they may be: " + "; ".join(set_), "kernels take longer, times differ less",
                   "as root: nvidia-smi -rac, nvidia-smi -rgc")


def _nvml(answer: dict) -> Iterator[Finding]:
    if answer["state"] != "opened":
        reason = answer.get("reason", "libnvidia-ml.so.1 is not there")
        make = error if answer.get("code") == 18 else note
        yield make("gpu.no-nvml", f"NVML is not available: {reason}", "ECC, MIG and persistence are not known",
                   "reboot: library and kernel module differ" if answer.get("code") == 18 else
                   "docker run -e NVIDIA_DRIVER_CAPABILITIES=compute,utility")
        return

    def those(wanted) -> str:
        return ", ".join(str(index) for index, device in enumerate(answer["devices"]) if wanted(device))

    broken = those(lambda device: device["uncorrected"])
    if broken:
        yield error("gpu.ecc-errors", f"uncorrected ECC errors since the last reset on GPUs {broken}",
                    "results may be wrong, programs are ended by the driver", "drain the machine, nvidia-smi -q -d ECC; reset or replace")
    elif those(lambda device: device["ecc"]):
        yield ok("gpu.ecc", f"ECC is on, without uncorrected errors (GPUs {those(lambda device: device['ecc'])})")
    if those(lambda device: device["ecc"] is False):
        yield note("gpu.ecc-off", f"ECC is off on GPUs {those(lambda device: device['ecc'] is False)}",
                   "a flipped bit goes unseen", "as root: nvidia-smi -e 1, reboot")
    if those(lambda device: device["mig"]):
        yield warning("gpu.mig", f"MIG is on for GPUs {those(lambda device: device['mig'])}",
                      "a process sees one instance; no peer access, and no IPC between instances: messages go through the host",
                      "for jobs of several ranks: as root nvidia-smi -mig 0")
    yield from _clocks(answer["devices"])
    if those(lambda device: device["persistence"] is False):
        yield note("gpu.not-persistent", f"persistence mode is off on GPUs {those(lambda device: device['persistence'] is False)}",
                   "the first program after a pause waits seconds for the driver", "systemctl enable --now nvidia-persistenced")


def _absent(facts: Facts, driver: dict) -> Iterator[Finding]:
    hardware = _hardware(facts)
    if driver["state"] == "missing":
        if hardware:
            yield error("gpu.no-driver", f"/dev/{hardware[0]} is there, and the loader finds no libcuda.so.1",
                        "programs cannot use the GPU", "docker run --gpus all, or add its directory to LD_LIBRARY_PATH")
        else:
            yield note("gpu.none", "no GPU here: no libcuda.so.1, no /dev/nvidia0",
                       "programs run on the host alone")
        return
    known, remedy = _REASONS.get(driver.get("code"), ("", "nvidia-smi and dmesg may say more"))
    text = f"libcuda.so.1 is there; {driver['reason']}" + (f": {known}" if known else "")
    hidden = driver.get("code") == 100 and (facts.environment.get("CUDA_VISIBLE_DEVICES") is not None or not hardware)
    make = note if hidden else error
    yield make("gpu.driver-fails", text, "programs cannot use a GPU", remedy)


def look(facts: Facts) -> Iterator[Finding]:
    try:
        answer = facts.try_gpus()
    except Failed as failed:
        yield error("gpu.driver-hangs", f"asking the driver: {failed}", "programs that use CUDA hang or crash likewise",
                    "nvidia-smi and dmesg; the machine may need a reboot")
        return
    driver, nvml = answer["driver"], answer["nvml"]
    on_machine = len(nvml["devices"]) if nvml["state"] == "opened" else len(_hardware(facts)) or None
    if driver["state"] != "opened" or not driver["devices"]:
        if driver["state"] == "opened":
            driver = {"state": "failed", "code": 100, "reason": "cuInit works, and there is no device"}
        yield from _absent(facts, driver)
        yield from _visible(facts, 0 if driver["state"] == "missing" and not _hardware(facts) else on_machine)
        return
    devices = driver["devices"]
    names = Counter(device["name"] for device in devices)
    yield ok("gpu.found", f"CUDA {driver['cuda']}, " + ", ".join(f"{count} x {name}" for name, count in names.items()))
    if facts.environment.get("HEADRACE_CUDA", "").lower() == "off":
        yield warning("gpu.switched-off", "HEADRACE_CUDA is off", "every pointer is taken for host memory: a program that "
                      "passes device memory crashes", "unset it")
    yield from _peers(devices)
    yield from _abilities(devices)
    yield from _visible(facts, on_machine)
    yield from _mps(facts)
    yield from _nvml(nvml)
