"""Where this installation of Headrace is, and what it finds on the machine."""

from __future__ import annotations

import ctypes
import functools
import os
import sysconfig
from importlib import metadata
from pathlib import Path


@functools.cache
def prefix() -> Path:
    """The directory whose bin/, lib/ and include/ have our files: the environment, or ~/.local after pip install --user."""
    try:
        ours = metadata.distribution("headrace")
        for file in ours.files or ():
            if file.parts[-2:] == ("bin", "mpiexec"):
                return Path(os.path.normpath(ours.locate_file(file))).parent.parent
    except (metadata.PackageNotFoundError, OSError):
        pass
    return Path(sysconfig.get_path("data"))


def scripts() -> Path:
    return prefix() / "bin"


def version() -> str:
    try:
        return metadata.version("headrace")
    except metadata.PackageNotFoundError:  # run from a source tree
        return "not installed"


def find_mpiexec() -> Path | None:
    path = scripts() / "mpiexec"
    return path if path.is_file() else None


def cuda_driver() -> str:
    """One phrase: the driver's version and its devices, or why there is none."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "none found"
    error = driver.cuInit(0)
    if error != 0:
        return f"found, but cuInit fails with CUDA error {error}"
    version, count = ctypes.c_int(), ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    driver.cuDeviceGetCount(ctypes.byref(count))
    names = []
    for device in range(count.value):
        name = ctypes.create_string_buffer(128)
        driver.cuDeviceGetName(name, len(name), device)
        names.append(name.value.decode(errors="replace"))
    kinds = ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names)) or "no device"
    return f"CUDA {version.value // 1000}.{version.value % 1000 // 10}, {kinds}"


def describe() -> list[tuple[str, str]]:
    library = prefix() / "lib" / "libmpi_abi.so.1"
    header = prefix() / "include" / "mpi.h"

    def present(path: Path) -> str:
        return str(path) if path.is_file() else f"{path} (missing)"

    return [
        ("version", version()),
        ("mpiexec", present(scripts() / "mpiexec")),
        ("mpicc", present(scripts() / "mpicc")),
        ("library", present(library)),
        ("header", present(header)),
        ("CUDA driver", cuda_driver()),
    ]
