#!/usr/bin/env python3
"""mpi4py's own tests on Headrace.

  run.py --prefix P --environment E build               environment E: mpi4py built with P/bin/mpicc
  run.py --prefix P --environment E wheel               environment E: mpi4py's wheel, and P's libraries where pip puts them
  run.py --prefix P --environment E test --ranks N      the suite under P/bin/mpiexec; fails on what expected.txt does not name
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

VERSION = "4.1.2"
HERE = Path(__file__).resolve().parent


def run(*command: str | Path, **keywords) -> None:
    subprocess.run([str(part) for part in command], check=True, **keywords)


def build(prefix: Path, environment: Path) -> int:
    """Makes the environment once; a later call does nothing (the library is found at run time)."""
    ready = environment / "ready"
    if ready.exists():
        return 0
    venv.create(environment, with_pip=True, clear=True)
    pip = [environment / "bin" / "python", "-m", "pip", "-q", "--disable-pip-version-check"]
    run(*pip, "install", "cython>=3.0", "setuptools>=61", "wheel", "numpy")
    run(*pip, "download", "--no-binary", ":all:", "--no-deps", "--no-build-isolation", "-d", environment, f"mpi4py=={VERSION}")
    source = environment / f"mpi4py-{VERSION}.tar.gz"
    with tarfile.open(source) as archive:
        archive.extractall(environment)
    # Optimisation would only take time: what is tested is the library.
    settings = {**os.environ, "MPICC": str(prefix / "bin" / "mpicc"), "CFLAGS": "-O0 -g0", "MPI4PY_BUILD_MPIABI": "0"}
    run(*pip, "install", "--no-build-isolation", "--no-deps", source, env=settings)
    ready.touch()
    return 0


def wheel(prefix: Path, environment: Path) -> int:
    """The wheel, which opens MPICH's ABI (libmpi.so.12) in the environment's lib; the sources only for their tests."""
    if not (environment / "ready").exists():
        venv.create(environment, with_pip=True, clear=True)
        pip = [environment / "bin" / "python", "-m", "pip", "-q", "--disable-pip-version-check"]
        run(*pip, "install", "numpy", "setuptools>=61", "wheel")
        run(*pip, "install", "--only-binary", ":all:", "--no-deps", f"mpi4py=={VERSION}")
        run(*pip, "download", "--no-binary", ":all:", "--no-deps", "--no-build-isolation", "-d", environment,
            f"mpi4py=={VERSION}")
        with tarfile.open(environment / f"mpi4py-{VERSION}.tar.gz") as archive:
            archive.extractall(environment)
        (environment / "ready").touch()
    for name in ("libmpi_abi.so.1", "libmpi.so.12"):
        link = environment / "lib" / name
        link.unlink(missing_ok=True)
        link.symlink_to(prefix.resolve() / "lib" / name)
    python = environment / "bin" / "python"
    told = subprocess.run([python, "-c", "from mpi4py import MPI; print(MPI.Get_library_version())"], check=True,
                          capture_output=True, text=True, env=no_settings()).stdout
    hello = subprocess.run([prefix / "bin" / "mpiexec", "-n", "4", python, "-m", "mpi4py.bench", "helloworld"], check=True,
                           capture_output=True, text=True, timeout=60, env=no_settings()).stdout
    print(told + hello, end="")
    said = sorted(line.split(" on ")[0] for line in hello.splitlines())
    return 0 if "Headrace" in told and said == [f"Hello, World! I am process {i} of 4" for i in range(4)] else 1


def no_settings() -> dict[str, str]:
    """What a user has who set nothing."""
    return {name: value for name, value in os.environ.items() if not re.match("LD_|MPI|HEADRACE_", name)}


def failed_tests(log: str) -> list[str]:
    """The names in unittest's "ERROR: test (module.Class.test)" lines, each once, whatever rank said it."""
    names = set()
    for match in re.finditer(r"^(?:\[[^\]]*\] )?(?:ERROR|FAIL): (\S+) \(([^)]*)\)", log, re.MULTILINE):
        test, place = match.groups()
        names.add(place if place.endswith(test) else f"{place}.{test}")
    return sorted(names)


def test(prefix: Path, environment: Path, ranks: int, timeout: int, only: list[str]) -> int:
    suite = environment / f"mpi4py-{VERSION}"
    # MPI_Comm_spawn is missing, and the suite's process pools wait for ever for what it would have started; so do the
    # ranks of test_dynproc for a port that rank 0 could not open. testIAgree starts mpi4py's stand-in for
    # MPIX_Comm_iagree (an allreduce) and a barrier on one communicator in different orders on different ranks, which
    # section 6.12 of the standard forbids.
    settings = {**os.environ, "MPI4PY_TEST_SPAWN": "0"}
    command = [prefix / "bin" / "mpiexec", "--timeout", str(timeout), "-n", str(ranks),
               environment / "bin" / "python", "test/main.py", "-v", "-e", "test_dynproc", "-x", "testIAgree"]
    for name in only:
        command += ["-i", name]
    log_path = environment / f"ranks-{ranks}.txt"
    with open(log_path, "w", encoding="utf-8") as log_file:
        result = subprocess.run([str(part) for part in command], cwd=suite, env=settings, stdout=log_file,
                                stderr=subprocess.STDOUT, check=False)
    log = log_path.read_text(encoding="utf-8", errors="replace")
    totals = re.findall(r"Ran (\d+) tests in ([\d.]+)s\s+(OK|FAILED)(?: \(([^)]*)\))?", log)
    if len(totals) < 1:
        print("\n".join(log.splitlines()[-60:]))
        print(f"mpi4py on {ranks} ranks did not come to its end (exit code {result.returncode}); {log_path}")
        return 1
    allowed = [re.compile(line) for line in (HERE / "expected.txt").read_text().splitlines()
               if line and not line.startswith("#")]
    failed = failed_tests(log)
    surprises = [name for name in failed if not any(pattern.match(name) for pattern in allowed)]
    ran, seconds, _, details = totals[0]
    print(f"mpi4py {VERSION} on {ranks} ranks: ran {ran} in {float(seconds):.0f} s, {details}; "
          f"{len(failed)} different tests failed, {len(surprises)} of them unexpectedly")
    for name in surprises:
        print(f"  unexpected: {name}")
    if surprises:
        print(f"see {log_path}")
    return 1 if surprises else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, required=True)
    parser.add_argument("--environment", type=Path, required=True)
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("build")
    actions.add_parser("wheel")
    suite = actions.add_parser("test")
    suite.add_argument("--ranks", type=int, required=True)
    suite.add_argument("--timeout", type=int, default=900)
    suite.add_argument("--only", nargs="*", default=[], help="modules of the suite, by patterns")
    arguments = parser.parse_args()
    if arguments.action == "build":
        return build(arguments.prefix, arguments.environment)
    if arguments.action == "wheel":
        return wheel(arguments.prefix, arguments.environment)
    return test(arguments.prefix, arguments.environment, arguments.ranks, arguments.timeout, arguments.only)


if __name__ == "__main__":
    sys.exit(main())
