"""Paths of this installation of Headrace, and the driver found on the machine."""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import sysconfig
from importlib import metadata
from pathlib import Path


def _own_prefix() -> Path | None:
    """Returns the prefix if these files are in share/headrace/python of an installation by CMake, or in python of a build
    directory."""
    place = Path(__file__).absolute().parent
    names = [directory.name for directory in list(place.parents)[:3]]
    if names == ["python", "headrace", "share"]:
        return place.parents[3]
    return place.parents[1] if names[:1] == ["python"] and (place.parents[1] / "bin" / "mpiexec").is_file() else None


@functools.cache
def prefix() -> Path:
    """Returns the directory whose bin/, lib/ and include/ contain Headrace's files: the environment, or ~/.local after pip install
    --user."""
    own = _own_prefix()
    if own:
        return own
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
    own = _own_prefix()
    if own:
        return _said_version(own) or "not installed"
    try:
        return metadata.version("headrace")
    except metadata.PackageNotFoundError:  # run from a source tree
        return "not installed"


@functools.cache
def _said_version(place: Path) -> str | None:
    try:
        said = subprocess.run([str(place / "bin" / "mpiexec"), "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = said.stdout.split()
    return words[-1] if said.returncode == 0 and words else None


def version_of(place: Path) -> str:
    """Returns the version of the installation or build there, as reported by its mpiexec."""
    return _said_version(place) or version()


def find_mpiexec() -> Path | None:
    path = scripts() / "mpiexec"
    return path if path.is_file() else None


def cuda_driver() -> str:
    """Returns one phrase: the driver's version and its devices, or why there is none."""
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


def hip_runtime() -> str:
    """Returns one phrase: the version of AMD's HIP runtime and its devices, or why there is none."""
    from headrace.bench.child import Failed  # these modules import this one
    from headrace.doctor import amd
    try:
        answer = amd.ask()
    except Failed as failed:
        return f"found, but {failed}"
    if answer["state"] == "missing":
        return "none found"
    if answer["state"] == "failed":
        return f"found, but {answer['reason']}"
    kinds = ", ".join(f"{answer['devices'].count(name)} x {name}" for name in dict.fromkeys(answer["devices"]))
    return f"ROCm {answer['rocm'][0]}.{answer['rocm'][1]}, {kinds}"


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
        ("HIP runtime", hip_runtime()),
    ]
