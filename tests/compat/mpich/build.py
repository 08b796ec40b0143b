#!/usr/bin/env python3
"""Programs compiled with MPICH's own mpicxx (from the package index), for the tests that run them on libmpi.so.12.

  build.py ENVIRONMENT --objects DIR     once: the environment, and in its programs/ what PROGRAMS names; --objects: the
                                         build directory with the device code of halo3d
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
MPI_TESTS = ROOT / "tests/mpi"
HALO3D = ROOT / "apps/halo3d"
BENCH = ROOT / "bench"

# Headers of two libraries: the owner of the ABI, and the library that compiled most existing binaries.
MPICH = "mpich==4.3.2"
INTEL = "impi-devel==2021.18.1"

# Tests of the library that use only MPI, and no other Headrace functions.
TESTS = ("buffered", "cancel", "completion", "derived", "large_count", "persistent", "probe", "self_and_null",
         "empty_buffers", "sendrecv", "status", "threads", "comm/attributes", "comm/create", "comm/errors", "comm/inter", "comm/topology",
         "coll/inter", "coll/movement", "coll/neighbor", "coll/reductions",
         "io/datareps", "io/functions", "io/shared")


def sources() -> dict[str, tuple[list[Path], list[Path]]]:
    """program -> its sources, its include directories"""
    found = {f"test_{name.replace('/', '_')}": ([MPI_TESTS / f"{name}.cpp"], [MPI_TESTS]) for name in TESTS}
    found["walk"] = found["walk_intel"] = (sorted((HERE / "walk").glob("*.cpp")), [MPI_TESTS])
    found["cost"] = ([HERE / "cost.cpp"], [])
    found["halo3d"] = (sorted(HALO3D.glob("*.cpp")) + sorted((HALO3D / "patterns").glob("*.cpp")),
                       [HALO3D, ROOT / "apps/common"])
    found["latency"] = ([BENCH / "latency.cpp", *sorted((BENCH / "common").glob("*.cpp"))], [BENCH, ROOT / "apps/common"])
    found["collective"] = ([BENCH / "collective.cpp", BENCH / "collective/operation.cpp",
                            *sorted((BENCH / "common").glob("*.cpp"))], [BENCH, ROOT / "apps/common"])
    return found


def run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True)


def compile_program(environment: Path, name: str, files: list[Path], includes: list[Path], objects: Path) -> None:
    program = environment / "programs" / name
    if program.exists() and program.stat().st_mtime > max(path.stat().st_mtime for path in [*files, Path(__file__)]):
        return
    optimise = "-O2" if name == "cost" else "-O0"
    # Intel's mpicxx contains another installation path; only its header is used, without the old C++ bindings, which
    # need a separate library.
    first = [f"-I{environment / 'intel'}", "-DMPICH_SKIP_MPICXX"] if name.endswith("_intel") else []
    extra = sorted(objects.glob("apps/halo3d/*.a")) if name == "halo3d" else []
    # MPICH's library needs other libraries, which are missing here: programs only link to it.
    run(environment / "bin/mpicxx", "-std=c++20", optimise, "-w", *first, *(f"-I{path}" for path in includes), *files, *extra,
        "-Wl,--allow-shlib-undefined", "-ldl", "-lpthread", "-o", program)


def intel_header(environment: Path, pip: list[str | Path]) -> None:
    run(*pip, "download", "--no-deps", "-d", environment, INTEL)
    target = environment / "intel"
    target.mkdir(exist_ok=True)
    with zipfile.ZipFile(next(environment.glob("impi_devel-*.whl"))) as wheel:
        for name in wheel.namelist():
            if name.endswith(("/include/mpi.h", "/include/mpio.h")):
                (target / Path(name).name).write_bytes(wheel.read(name))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", type=Path)
    parser.add_argument("--objects", type=Path, required=True)
    arguments = parser.parse_args()
    environment = arguments.environment
    if not (environment / "intel/mpio.h").exists():
        venv.create(environment, with_pip=True, clear=True)
        pip = [environment / "bin/python", "-m", "pip", "-q", "--disable-pip-version-check"]
        run(*pip, "install", "--no-deps", MPICH)
        intel_header(environment, pip)
    (environment / "programs").mkdir(exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(compile_program, environment, name, *parts, arguments.objects)
                for name, parts in sources().items()]
        for job in jobs:
            job.result()
    return 0


if __name__ == "__main__":
    sys.exit(main())
