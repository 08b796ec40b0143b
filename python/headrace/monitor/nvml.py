"""GPU figures through NVIDIA's management library, opened at run time. Without it, or without devices, there are no figures."""

from __future__ import annotations

import atexit
import ctypes
import threading

_GPUS_MOST = 64
_NVLINK = (("nvlink_tx", 138), ("nvlink_rx", 139))  # NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX, in KiB since the driver's start
_ALL_LINKS = 0xFFFFFFFF
_THROTTLED = "nvmlDeviceGetCurrentClocksThrottleReasons"
_SLOWED = 0x8 | 0x20 | 0x40 | 0x80  # by hardware, by temperature (software, hardware), by the power supply's brake
_PCIE = (("pcie_tx", 0), ("pcie_rx", 1))  # NVML_PCIE_UTIL_TX_BYTES and _RX_BYTES
_PCIE_SECONDS = 1.0  # seconds between two queries of a GPU's


class _Utilisation(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class _Value(ctypes.Union):
    _fields_ = [("unsigned_long_long", ctypes.c_ulonglong), ("double", ctypes.c_double)]


class _Field(ctypes.Structure):
    _fields_ = [("field", ctypes.c_uint), ("scope", ctypes.c_uint), ("timestamp", ctypes.c_longlong), ("latency", ctypes.c_longlong),
                ("type", ctypes.c_int), ("status", ctypes.c_int), ("value", _Value)]


class _Pcie(threading.Thread):
    """Bytes per second over PCIe. The library measures for 20 ms, during which the caller sleeps, so this runs in a thread. (The
    library also counts bytes, but in 32 bits, which wrap in less than a tenth of a second.)"""

    def __init__(self, library: ctypes.CDLL, devices: list[ctypes.c_void_p]):
        super().__init__(name="headrace-pcie", daemon=True)
        self.figures: dict[str, float] = {}
        self._library, self._devices, self._ended = library, devices, threading.Event()

    def run(self) -> None:
        while not self._ended.is_set():
            for index, device in enumerate(self._devices):
                for word, number in _PCIE:
                    value = ctypes.c_uint()
                    if self._library.nvmlDeviceGetPcieThroughput(device, number, ctypes.byref(value)) == 0:
                        self.figures[f"gpu.{index}.{word}"] = value.value * 1000
                if self._ended.wait(_PCIE_SECONDS / len(self._devices)):
                    return

    def end(self) -> None:
        self._ended.set()
        if self.is_alive():
            self.join(5)


class Nvml:
    def __init__(self, name: str = "libnvidia-ml.so.1"):
        self._devices: list[ctypes.c_void_p] = []
        self._pcie: _Pcie | None = None
        self._links: dict[tuple[int, str], int] = {}
        try:
            self._library = ctypes.CDLL(name)
            if self._library.nvmlInit_v2() == 0:
                atexit.register(self._end)
                self._devices = self._open()
            if self._devices and hasattr(self._library, "nvmlDeviceGetPcieThroughput"):
                self._pcie = _Pcie(self._library, self._devices)
                self._pcie.start()
        except (OSError, AttributeError):  # missing, or too old to have these functions
            self._devices = []

    def _end(self) -> None:
        """Ends the threads that use the library, which must not outlive the interpreter."""
        if self._pcie:
            self._pcie.end()
        self._library.nvmlShutdown()

    def _open(self) -> list[ctypes.c_void_p]:
        count = ctypes.c_uint()
        if self._library.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
            return []
        found = []
        for index in range(min(count.value, _GPUS_MOST)):
            device = ctypes.c_void_p()
            if self._library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) == 0:
                found.append(device)
        return found

    def look(self) -> dict[str, float]:
        figures: dict[str, float] = {}
        for index, device in enumerate(self._devices):
            use, memory = _Utilisation(), _Memory()
            if self._library.nvmlDeviceGetUtilizationRates(device, ctypes.byref(use)) == 0:
                figures[f"gpu.{index}.busy"] = use.gpu / 100
            if self._library.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)) == 0 and memory.total:
                figures[f"gpu.{index}.memory"] = round(memory.used / memory.total, 4)
            reasons = ctypes.c_ulonglong()
            if hasattr(self._library, _THROTTLED) and getattr(self._library, _THROTTLED)(device, ctypes.byref(reasons)) == 0:
                figures[f"gpu.{index}.throttled"] = float(bool(reasons.value & _SLOWED))
            figures.update(self._nvlink(index, device))
        return {**figures, **(self._pcie.figures.copy() if self._pcie else {})}

    def _nvlink(self, index: int, device: ctypes.c_void_p) -> dict[str, float]:
        """Returns the bytes since the last call; nothing if the driver does not count them."""
        # Driver 580 also writes to the element behind the last one, if that looks like a field of NVLink: so one empty element
        # more.
        fields = (_Field * (len(_NVLINK) + 1))()
        for field, (_, number) in zip(fields, _NVLINK):
            field.field, field.scope = number, _ALL_LINKS
        if not hasattr(self._library, "nvmlDeviceGetFieldValues") or self._library.nvmlDeviceGetFieldValues(device, len(_NVLINK), fields) != 0:
            return {}
        figures = {}
        for field, (word, _) in zip(fields, _NVLINK):
            if field.status != 0:
                continue
            now = field.value.unsigned_long_long * 1024
            before = self._links.get((index, word))
            self._links[index, word] = now
            if before is not None:
                figures[f"gpu.{index}.{word}"] = max(0, now - before)
        return figures
