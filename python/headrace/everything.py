"""`headrace info --all`: an installation, its compilers, ABIs, networks and GPUs, as data."""

from __future__ import annotations

import subprocess
from pathlib import Path

from headrace import installation
from headrace.bench.child import Failed
from headrace.doctor import amd, gpu, libraries
from headrace.doctor.checks import network
from headrace.doctor.facts import Facts

FORMAT = 1
_PROGRAMS = ("mpiexec", "mpicc", "mpicxx", "mpifort", "headrace")
_WRAPPERS = {"c": "mpicc", "cxx": "mpicxx", "fortran": "mpifort"}
_SECONDS = 20


def _compiler(wrapper: Path) -> dict:
    """Returns the command that a wrapper runs, or the reason why there is none."""
    try:
        found = subprocess.run([str(wrapper), "-showme:command"], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return {"command": None, "why": str(problem)}
    if found.returncode != 0:
        return {"command": None, "why": found.stderr.strip()}
    return {"command": found.stdout.strip()}


def _library(name: str, facts: Facts) -> dict:
    """Returns the version and location of a network library."""
    found = libraries.find(facts, name)
    if isinstance(found, str):
        return {"version": None, "why": found}
    return {"version": found[0], "library": str(found[1])}


def _networks(facts: Facts) -> dict:
    chosen = network.choose(facts)
    try:
        one = network.interface(facts)
    except OSError:  # a sandbox refuses the list
        one = None
    return {"shared_memory": "within a host",
            "between_hosts": {"transport": chosen.transport or None, "why": chosen.why},
            "tcp": {"interface": one.name if one else None, "address": one.address if one else None},
            "ucx": _library(libraries.UCX, facts), "libfabric": _library(libraries.OFI, facts)}


def _gpus() -> dict:
    try:
        driver = gpu.ask()["driver"]
    except Failed as failed:
        return {"driver": "failed", "why": str(failed), "devices": []}
    return {"driver": driver["state"], "cuda": driver.get("cuda"),
            "devices": [device["name"] for device in driver.get("devices", [])], **({"why": driver["reason"]} if "reason" in driver else {})}


def _amd_gpus() -> dict:
    try:
        answer = amd.ask()
    except Failed as failed:
        return {"runtime": "failed", "why": str(failed), "devices": []}
    return {"runtime": answer["state"], "rocm": ".".join(map(str, answer["rocm"])) if "rocm" in answer else None,
            "devices": answer.get("devices", []), **({"why": answer["reason"]} if "reason" in answer else {})}


def describe(prefix: Path) -> dict:
    def path(name: str) -> str | None:
        return str(prefix / name) if (prefix / name).exists() else None

    return {
        "format": FORMAT,
        "version": installation.version_of(prefix),
        "prefix": str(prefix),
        "mpi": "5.0",
        "programs": {name: path(f"bin/{name}") for name in _PROGRAMS},
        "header": path("include/mpi.h"),
        "abis": [{"name": "MPI ABI 1.0", "library": path("lib/libmpi_abi.so.1")},
                 {"name": "MPICH ABI 12", "library": path("lib/libmpi.so.12")}],
        "compilers": {language: _compiler(prefix / "bin" / wrapper) for language, wrapper in _WRAPPERS.items()},
        "options": {"threads": "MPI_THREAD_MULTIPLE", "files": "MPI-IO", "fault_tolerance": "ULFM (mpiexec --enable-recovery)",
                    "gpu_buffers": "CUDA, HIP", "started_by": ["mpiexec", "PMI-1", "PMI-2", "PMIx"],
                    "extensions": ["cuda", "hip", "ulfm", "float16", "prequest"]},
        "networks": _networks(Facts(prefix=prefix)),
        "gpus": _gpus(),
        "amd_gpus": _amd_gpus(),
    }


def lines(facts: dict, name: str = "") -> list[str]:
    """Returns one fact per line, for people: "compilers.c.command  /usr/bin/gcc"."""
    found = []
    for key, value in facts.items() if isinstance(facts, dict) else enumerate(facts):
        inner = f"{name}.{key}" if name else str(key)
        if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(each, dict) for each in value)):
            found += lines(value, inner)
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            found.append(f"{inner:<28} {'not there' if value is None else text}")
    return found
