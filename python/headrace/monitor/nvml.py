"""GPU figures from NVIDIA's package nvidia-ml-py (`pip install 'headrace[monitor]'`). Without the package, a driver or
devices, there are no figures."""

from __future__ import annotations

import atexit
import importlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

_GPUS_MOST = 64
_ALL_LINKS = 0xFFFFFFFF
# Bytes over NVLink since the driver's start, in KiB. Some drivers also read the field after one of NVLink, so the last field is a different
# one.
_NVLINK = ("NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX", "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX", "NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION")
_WORDS = ("nvlink_tx", "nvlink_rx")
_SLOWED = 0x8 | 0x20 | 0x40 | 0x80  # reasons: hardware, temperature (software, hardware), and the power supply's brake
_PCIE = (("pcie_tx", "NVML_PCIE_UTIL_TX_BYTES"), ("pcie_rx", "NVML_PCIE_UTIL_RX_BYTES"))
_PCIE_SECONDS = 1.0  # time between two queries of a GPU's rate
_DRIVER = Path("/proc/driver/nvidia/gpus")


def _asked(function: Callable, *arguments: object) -> Any:
    """Returns None if the library refuses, or lacks the function."""
    try:
        return function(*arguments)
    except Exception:  # the package has a class for each error, and raises others if a driver is too old
        return None


class _Pcie(threading.Thread):
    """Measures bytes per second over PCIe. The library measures for 20 ms, during which the caller sleeps, so this runs
    in a thread. (The library also counts bytes, but in 32 bits, which wrap in less than a tenth of a second.)"""

    def __init__(self, library: ModuleType, devices: list):
        super().__init__(name="headrace-pcie", daemon=True)
        self.figures: dict[str, float] = {}
        self._library, self._devices, self._ended = library, devices, threading.Event()

    def run(self) -> None:
        while not self._ended.is_set():
            for index, device in enumerate(self._devices):
                for word, name in _PCIE:
                    value = _asked(self._library.nvmlDeviceGetPcieThroughput, device, getattr(self._library, name))
                    if value is not None:
                        self.figures[f"gpu.{index}.{word}"] = value * 1000
                if self._ended.wait(_PCIE_SECONDS / len(self._devices)):
                    return

    def end(self) -> None:
        self._ended.set()
        if self.is_alive():
            self.join(5)


class Nvml:
    def __init__(self, name: str = "pynvml", driver: Path = _DRIVER, clock: Callable[[], float] = time.monotonic):
        """`name`: the module of nvidia-ml-py."""
        self.remarks: list[str] = []
        self._devices: list = []
        self._addresses: dict[int, str] = {}
        self._pcie: _Pcie | None = None
        self._links: dict[int, tuple[float, list[int]]] = {}
        self._clock = clock
        try:
            self._library = importlib.import_module(name)
        except ImportError:
            if driver.is_dir():
                self.remarks = ["the GPUs of this host are not shown, as nvidia-ml-py is not installed: pip install 'headrace[monitor]'"]
            return
        try:
            self._library.nvmlInit()
        except Exception:  # no driver, no device, or none that this process may open
            return
        atexit.register(self.end)
        self._devices = self._open()
        self._addresses = self._find()
        if self._devices:
            self._pcie = _Pcie(self._library, self._devices)
            self._pcie.start()

    def end(self) -> None:
        """Ends the thread that uses the library, which must not outlive the interpreter."""
        if self._pcie:
            self._pcie.end()
        _asked(self._library.nvmlShutdown)

    def _open(self) -> list:
        count = _asked(self._library.nvmlDeviceGetCount) or 0
        found = (_asked(self._library.nvmlDeviceGetHandleByIndex, index) for index in range(min(count, _GPUS_MOST)))
        return [device for device in found if device is not None]

    def addresses(self) -> dict[int, str]:
        """Returns the PCI address of each GPU, as the kernel writes it."""
        return self._addresses

    def _find(self) -> dict[int, str]:
        found = {}
        for index, device in enumerate(self._devices):
            bus = getattr(_asked(self._library.nvmlDeviceGetPciInfo, device), "busId", None)
            if bus is not None:
                text = bus.decode("ascii", "replace") if isinstance(bus, bytes) else str(bus)
                found[index] = text.lower()[-12:]  # the library writes eight digits of the domain, the kernel four
        return found

    def look(self) -> dict[str, float]:
        figures: dict[str, float] = {}
        for index, device in enumerate(self._devices):
            figures.update({f"gpu.{index}.{word}": value for word, value in self._figures(device).items()})
            figures.update(self._nvlink(index, device))
        return {**figures, **(self._pcie.figures.copy() if self._pcie else {})}

    def _figures(self, device: Any) -> dict[str, float]:
        ask, library, found = _asked, self._library, {}
        if (use := ask(library.nvmlDeviceGetUtilizationRates, device)) is not None:
            found["busy"] = use.gpu / 100
        memory = ask(library.nvmlDeviceGetMemoryInfo, device)
        if memory is not None and memory.total:
            found["memory"] = round(memory.used / memory.total, 4)
        if (reasons := ask(library.nvmlDeviceGetCurrentClocksThrottleReasons, device)) is not None:
            found["throttled"] = float(bool(reasons & _SLOWED))
        if (degrees := ask(library.nvmlDeviceGetTemperature, device, library.NVML_TEMPERATURE_GPU)) is not None:
            found["temperature"] = float(degrees)
        if (milliwatts := ask(library.nvmlDeviceGetPowerUsage, device)) is not None:
            found["power"] = milliwatts / 1000
        return found

    def _nvlink(self, index: int, device: Any) -> dict[str, float]:
        """Returns the bytes per second since the last call; nothing if the driver does not count them."""
        fields = [(getattr(self._library, name), _ALL_LINKS if "NVLINK" in name else 0) for name in _NVLINK]
        values, now = _asked(self._library.nvmlDeviceGetFieldValues, device, fields), self._clock()
        if values is None or any(value.nvmlReturn != 0 for value in list(values)[:len(_WORDS)]):
            return {}
        counts = [value.value.ullVal * 1024 for value in list(values)[:len(_WORDS)]]
        before = self._links.get(index)
        self._links[index] = (now, counts)
        if before is None or now <= before[0]:
            return {}
        return {f"gpu.{index}.{word}": round(max(0, count - old) / (now - before[0])) for word, count, old in zip(_WORDS, counts, before[1])}
