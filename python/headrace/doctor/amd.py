"""Facts from AMD's HIP runtime, queried in another process, so that a hang or crash of the runtime affects only that
process.

`python -m headrace.doctor.amd` writes a JSON object. No memory is allocated.
  state    "missing", "failed" (code, reason) or "opened"
  library  the name under which it was found
  rocm     [major, minor]
  devices  their names
"""

from __future__ import annotations

import ctypes
import json
import os
import sys

from headrace.bench import child

SECONDS = 7
NAMES = ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so")  # as in src/mem/hip/runtime.cpp
OLDEST = [5, 2]
NO_DEVICE = 100


def ask() -> dict:
    """Queries the runtime in another process; raises Failed if there is no answer."""
    text = child.run([sys.executable, "-B", "-m", __name__], SECONDS, {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
    try:
        return json.loads(text.strip().splitlines()[-1])
    except (ValueError, IndexError):
        raise child.Failed(f"the runtime was asked and gave no answer: {text.strip()[-200:]}") from None


def _open() -> tuple[str, ctypes.CDLL] | dict:
    broken = {"state": "missing"}
    for name in NAMES:
        try:
            return name, ctypes.CDLL(name)
        except OSError as error:
            if not str(error).startswith(f"{name}:"):  # the library exists, but something that it needs does not
                broken = {"state": "failed", "code": None, "reason": str(error)}
    return broken


def answer() -> dict:
    found = _open()
    if isinstance(found, dict):
        return found
    name, hip = found
    version, count = ctypes.c_int(), ctypes.c_int()
    hip.hipRuntimeGetVersion(ctypes.byref(version))
    said = {"library": name, "rocm": [version.value // 10000000, version.value // 100000 % 100]}
    code = hip.hipGetDeviceCount(ctypes.byref(count))
    if code != 0 or count.value == 0:
        return {"state": "failed", "code": code or NO_DEVICE, "reason": f"hipGetDeviceCount gives error {code or NO_DEVICE}", **said}
    names = []
    for device in range(count.value):
        text = ctypes.create_string_buffer(256)
        known = hip.hipDeviceGetName(text, len(text), device) == 0
        names.append(text.value.decode(errors="replace") if known else "unknown")
    return {"state": "opened", "devices": names, **said}


if __name__ == "__main__":
    try:
        print(json.dumps(answer()))
    except AttributeError as problem:  # the library lacks a function
        print(json.dumps({"state": "failed", "code": None, "reason": f"it is too old: {problem}"}))
