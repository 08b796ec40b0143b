"""AMD GPUs: the HIP runtime and its devices (headrace/doctor/amd.py), and variables that change them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator

from headrace.bench.child import Failed
from headrace.doctor.amd import NO_DEVICE, OLDEST
from headrace.doctor.facts import Facts
from headrace.doctor.finding import Finding, error, note, ok, warning

_VISIBLE = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
_HARDWARE = "/dev/kfd"
_LEGACY_EXPORT = "HSA_ENABLE_IPC_MODE_LEGACY"
_EXPORTS_PIN = ([7, 0], [7, 14])  # from the first version to before the second
_MIGRATES = re.compile(r"MI(2\d\d|3\d\d)X?\b")  # devices with memory of their own that can retry an access: not MI300A


def _accessible(facts: Facts) -> bool:
    return os.access(facts.path(_HARDWARE), os.R_OK | os.W_OK)


def _absent(facts: Facts, answer: dict, hardware: bool) -> Iterator[Finding]:
    if answer["state"] == "missing":
        if hardware:
            yield error("amd.no-runtime", f"{_HARDWARE} is there, and the loader finds no libamdhip64.so", "programs cannot use the GPU",
                        "load the module of ROCm, or add /opt/rocm/lib to LD_LIBRARY_PATH")
        else:
            yield note("amd.none", "no AMD GPU here: no libamdhip64.so, no /dev/kfd", "nothing of AMD is used", "")
        return
    if hardware and not _accessible(facts):
        yield error("amd.no-access", f"{_HARDWARE} may not be read and written by this user", "programs cannot use the GPU",
                    "as root: usermod -a -G render,video USER; in a container: --device /dev/kfd --device /dev/dri")
        return
    if answer.get("code") == NO_DEVICE and not hardware:
        yield note("amd.runtime-only", f"a HIP runtime is here ({answer['library']}), and no AMD GPU", "programs run on the host alone", "")
        return
    hidden = [f"{name}={facts.environment[name]}" for name in _VISIBLE if name in facts.environment]
    make = warning if hidden and answer.get("code") == NO_DEVICE else error
    yield make("amd.runtime-fails", f"the HIP runtime: {answer['reason']}" + (f"; {', '.join(hidden)}" if hidden else ""),
               "programs see no GPU", "unset those variables, or name devices" if hidden else "rocminfo and dmesg may say more")


def _variables(facts: Facts) -> Iterator[Finding]:
    both = [f"{name}={facts.environment[name]}" for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES") if name in facts.environment]
    if len(both) == 2:
        yield note("amd.visible-twice", " and ".join(both), "HIP_VISIBLE_DEVICES numbers the devices that ROCR_VISIBLE_DEVICES leaves, from 0",
                   "set one of them")


def _exports(facts: Facts, rocm: list[int]) -> Iterator[Finding]:
    first, last = _EXPORTS_PIN
    if first <= rocm < last and facts.environment.get(_LEGACY_EXPORT) != "1":
        yield warning("amd.exports-pin", f"ROCm {'.'.join(map(str, rocm))}, and {_LEGACY_EXPORT} is not 1",
                      "GPU memory that one process has sent to another may stay in use after hipFree()", f"export {_LEGACY_EXPORT}=1")


def _migration(facts: Facts, devices: list[str]) -> Iterator[Finding]:
    if any(_MIGRATES.search(name) for name in devices) and facts.environment.get("HSA_XNACK") != "1":
        yield note("amd.no-migration", "HSA_XNACK is not 1", "managed memory (hipMallocManaged) does not migrate: kernels read and write it over "
                   "the bus", "export HSA_XNACK=1 if the program uses such memory, or hipMalloc() in the program")


def look(facts: Facts) -> Iterator[Finding]:
    hardware = "kfd" in facts.names("/dev")
    try:
        answer = facts.try_amd()
    except Failed as failed:
        yield error("amd.runtime-hangs", f"asking the HIP runtime: {failed}", "programs that use HIP hang or crash likewise",
                    "rocminfo and dmesg; the machine may need a reboot")
        return
    if answer["state"] != "opened":
        yield from _absent(facts, answer, hardware)
        return
    rocm = ".".join(map(str, answer["rocm"]))
    if answer["rocm"] < OLDEST:
        yield error("amd.too-old", f"ROCm {rocm} ({answer['library']}); {'.'.join(map(str, OLDEST))} is needed",
                    "GPU memory is not recognised: a program that passes it crashes", "a newer ROCm")
        return
    names = Counter(answer["devices"])
    yield ok("amd.found", f"ROCm {rocm}, " + ", ".join(f"{count} x {name}" for name, count in names.items()))
    if facts.environment.get("HEADRACE_HIP", "").lower() == "off":
        yield warning("amd.switched-off", "HEADRACE_HIP is off", "every pointer is taken for host memory: a program that "
                      "passes device memory crashes", "unset it")
    else:
        yield note("amd.emulated", "this release's code for AMD GPUs has been compiled and emulated, and not run on one",
                   "compare results with those of the host first", "docs/amd.md: the ten commands to run, and where to report")
    yield from _exports(facts, answer["rocm"])
    yield from _migration(facts, answer["devices"])
    yield from _variables(facts)
