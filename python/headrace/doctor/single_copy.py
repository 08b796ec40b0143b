"""Tests whether one process may read another's memory (process_vm_readv), with two sibling processes, like ranks.

    python -m headrace.doctor.single_copy own            shows a value's process and address, waits for end of input
    python -m headrace.doctor.single_copy read PID ADDR  reads it; exit code 1 and a reason when that fails
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

VALUE = 0x5EED0FDA7A
SECONDS = 4
_LET_ALL_IN = (0x59616D61, ctypes.c_ulong(-1))  # PR_SET_PTRACER, PR_SET_PTRACER_ANY, as set by the library


class _Part(ctypes.Structure):
    _fields_ = [("address", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


def _own() -> None:
    ctypes.CDLL(None).prctl(_LET_ALL_IN[0], _LET_ALL_IN[1], 0, 0, 0)
    value = ctypes.c_uint64(VALUE)
    print(os.getpid(), ctypes.addressof(value), flush=True)
    sys.stdin.read()


def _read(pid: int, address: int) -> str:
    """Returns the reason why the value cannot be read; "" if it can."""
    value = ctypes.c_uint64(0)
    system = ctypes.CDLL(None, use_errno=True)
    system.process_vm_readv.restype = ctypes.c_ssize_t
    here, there = _Part(ctypes.addressof(value), 8), _Part(address, 8)
    if system.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) != 8:
        return os.strerror(ctypes.get_errno())
    return "" if value.value == VALUE else "it read something else than is there"


def attempt() -> str:
    """Returns the reason why a process cannot read its sibling's memory; "" if it can."""
    command = [sys.executable, "-B", "-m", __name__]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen([*command, "own"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, env=environment) as owner:
        try:
            words = owner.stdout.readline().split()
            if len(words) != 2:
                return "the process whose memory was to be read did not start"
            done = subprocess.run([*command, "read", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=SECONDS, check=False, env=environment)
        except subprocess.TimeoutExpired:
            return f"no answer in {SECONDS} s"
        finally:
            owner.kill()
    if done.returncode == 0:
        return ""
    return done.stdout.strip() or f"the reader ended with code {done.returncode}"


if __name__ == "__main__":
    if sys.argv[1] == "own":
        _own()
    else:
        reason = _read(int(sys.argv[2]), int(sys.argv[3]))
        print(reason)
        sys.exit(1 if reason else 0)
