"""Facts from the NVIDIA driver and NVML, queried in another process, so that a hang or crash of the driver affects only
that process.

`python -m headrace.doctor.gpu` writes a JSON object. No context is created and no memory is allocated.
  driver   "missing", "failed" (code, reason) or "opened"; then cuda (version) and devices: name, attributes (None: the
           driver does not know it), peers (whether it can reach each of the devices)
  nvml     the same three words; then devices: name, persistence, ecc, mig (booleans or None), uncorrected (errors or None),
           slowed (NVML's bits of reasons that hold the clocks down, or None), clock and most (MHz of the multiprocessors, or None)
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

from headrace.bench import child

SECONDS = 7
_SM_CLOCK = 1
ATTRIBUTES = {"compute_mode": 20, "unified_addressing": 41, "vmm": 102, "chunk_descriptors": 103, "pools": 115,
              "gpudirect_rdma": 116, "ipc_events": 125}


def ask() -> dict:
    """Queries the driver in another process; raises Failed if there is no answer."""
    text = child.run([sys.executable, "-B", "-m", __name__], SECONDS,
                     {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
    try:
        return json.loads(text.strip().splitlines()[-1])
    except (ValueError, IndexError):
        raise child.Failed(f"the driver was asked and gave no answer: {text.strip()[-200:]}") from None


def _open(name: str) -> ctypes.CDLL | dict:
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        missing = "cannot open shared object file" in str(error) and str(error).startswith(f"{name}:")
        return {"state": "missing"} if missing else {"state": "failed", "code": None, "reason": str(error)}


def _int(function, *arguments) -> int | None:
    """Returns the value that a call stores in its first argument; None if it fails."""
    value = ctypes.c_int()
    return value.value if function(ctypes.byref(value), *arguments) == 0 else None


def _text(function, *arguments) -> str:
    text = ctypes.create_string_buffer(128)
    return text.value.decode(errors="replace") if function(*arguments, text) == 0 else "unknown"


def driver() -> dict:
    cuda = _open("libcuda.so.1")
    if isinstance(cuda, dict):
        return cuda
    code = cuda.cuInit(0)
    if code != 0:
        return {"state": "failed", "code": code, "reason": f"cuInit fails with CUDA error {code}"}
    devices = range(_int(cuda.cuDeviceGetCount) or 0)
    version = _int(cuda.cuDriverGetVersion) or 0
    return {"state": "opened", "cuda": f"{version // 1000}.{version % 1000 // 10}", "devices": [{
        "name": _text(lambda text, device=device: cuda.cuDeviceGetName(text, 128, device)),
        "attributes": {name: _int(cuda.cuDeviceGetAttribute, number, device) for name, number in ATTRIBUTES.items()},
        "peers": [device == other or bool(_int(cuda.cuDeviceCanAccessPeer, device, other)) for other in devices],
    } for device in devices]}


def _mode(function, device: ctypes.c_void_p, values: int) -> bool | None:
    """True if the first of the values that a call returns for a device is not 0; None if the call fails."""
    current = [ctypes.c_int() for _ in range(values)]
    return bool(current[0].value) if function(device, *map(ctypes.byref, current)) == 0 else None


def _number(library: ctypes.CDLL, name: str, kind, *arguments) -> int | None:
    """Returns the value that a function stores in its last argument; None if it fails, or if the library lacks it."""
    value = kind()
    function = getattr(library, name, None)
    return value.value if function is not None and function(*arguments, ctypes.byref(value)) == 0 else None


def nvml() -> dict:
    library = _open("libnvidia-ml.so.1")
    if isinstance(library, dict):
        return library
    code = library.nvmlInit_v2()
    if code != 0:
        return {"state": "failed", "code": code, "reason": f"nvmlInit fails with NVML error {code}"}
    devices = []
    for index in range(_int(library.nvmlDeviceGetCount_v2) or 0):
        device = ctypes.c_void_p()
        if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) != 0:
            continue
        errors = ctypes.c_ulonglong()
        counted = library.nvmlDeviceGetTotalEccErrors(device, 1, 0, ctypes.byref(errors)) == 0  # uncorrected errors since boot
        devices.append({
            "name": _text(lambda text, device=device: library.nvmlDeviceGetName(device, text, 128)),
            "persistence": _mode(library.nvmlDeviceGetPersistenceMode, device, 1),
            "ecc": _mode(library.nvmlDeviceGetEccMode, device, 2),
            "mig": _mode(library.nvmlDeviceGetMigMode, device, 2),
            "uncorrected": errors.value if counted else None,
            "slowed": _number(library, "nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong, device),
            "clock": _number(library, "nvmlDeviceGetClockInfo", ctypes.c_uint, device, _SM_CLOCK),
            "most": _number(library, "nvmlDeviceGetMaxClockInfo", ctypes.c_uint, device, _SM_CLOCK),
        })
    library.nvmlShutdown()
    return {"state": "opened", "devices": devices}


def _answer(ask_) -> dict:
    try:
        return ask_()
    except AttributeError as error:  # the library lacks a function
        return {"state": "failed", "code": None, "reason": f"it is too old: {error}"}


if __name__ == "__main__":
    print(json.dumps({"driver": _answer(driver), "nvml": _answer(nvml)}))
