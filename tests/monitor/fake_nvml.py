"""nvidia-ml-py as the monitor calls it: two devices, the second without NVLink, and hot. Like the library of driver
580, it examines one field beyond those of NVLink, and fails if that field is not the caller's."""

from types import SimpleNamespace

NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION = 138, 139, 83
NVML_PCIE_UTIL_TX_BYTES, NVML_PCIE_UTIL_RX_BYTES, NVML_TEMPERATURE_GPU = 0, 1, 0


class NVMLError(Exception):
    pass


opened, sent = 0, 1000
hot = True


def _device(device):
    if not opened:
        raise NVMLError("Uninitialized")
    return device


def nvmlInit():
    global opened
    opened += 1


def nvmlShutdown():
    global opened
    opened -= 1


def nvmlDeviceGetCount():
    return 3


def nvmlDeviceGetHandleByIndex(index):
    if index == 2:
        raise NVMLError("No permission")
    return _device(index + 1)


def nvmlDeviceGetPciInfo(device):
    return SimpleNamespace(busId=b"00000000:%d7:00.0" % _device(device))


def nvmlDeviceGetUtilizationRates(device):
    return SimpleNamespace(gpu=10 * _device(device), memory=0)


def nvmlDeviceGetMemoryInfo(device):
    return SimpleNamespace(total=1000, used=250 * _device(device), free=0)


def nvmlDeviceGetCurrentClocksThrottleReasons(device):
    return 0x40 if _device(device) == 2 and hot else 0x1 | 0x4


def nvmlDeviceGetTemperature(device, sensor):
    return 40 * _device(device) + sensor


def nvmlDeviceGetPowerUsage(device):
    if _device(device) == 2:
        raise NVMLError("Not Supported")
    return 300_500


def nvmlDeviceGetPcieThroughput(device, which):
    return 100 * _device(device) + which


def nvmlDeviceGetFieldValues(device, fields):
    global sent
    if fields[-1][0] in (138, 139):
        raise MemoryError("a field behind the last one")
    sent += 8
    return [SimpleNamespace(nvmlReturn=0 if device == 1 else 3, value=SimpleNamespace(ullVal=sent if number == 138 else 5)) for number, _ in fields]
