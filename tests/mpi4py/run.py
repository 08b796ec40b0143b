#!/usr/bin/env python3
"""mpi4py's own tests on Headrace.

  run.py --prefix P --environment E build               environment E: mpi4py built with P/bin/mpicc
  run.py --prefix P --environment E wheel               environment E: mpi4py's wheel, and P's libraries where pip puts them
  run.py --prefix P --environment E futures             mpi4py.futures: its tests with pools that spawn, and its server
  run.py --prefix P --environment E test --ranks N      the suite under P/bin/mpiexec; fails on failures that expected.txt does not name
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

VERSION = "4.1.2"
HERE = Path(__file__).resolve().parent


# Test modules that concern one process, so that several hosts make no difference.
OF_ONE_PROCESS = "test_(address|datatype|doc|mpimem|objmodel|pack|package|pickle|util_dtlib)[.]py$"

# ULFM names that mpi4py uses, instead of its replacements, if it is told that they exist.
ULFM = ("ERR_REVOKED", "ERR_PROC_FAILED", "ERR_PROC_FAILED_PENDING", "Comm_revoke", "Comm_is_revoked", "Comm_get_failed",
        "Comm_ack_failed", "Comm_agree", "Comm_iagree", "Comm_shrink", "Comm_ishrink")


def run(*command: str | Path, **keywords) -> None:
    subprocess.run([str(part) for part in command], check=True, **keywords)


def build(prefix: Path, environment: Path) -> int:
    """Builds the environment once; a later call does nothing (the library is found at run time)."""
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
    # Optimisation would only take time, as the library is under test.
    flags = " ".join(["-O0 -g0 -include mpi-ext.h", *(f"-DPyMPI_HAVE_MPIX_{name}=1" for name in ULFM)])
    settings = {**os.environ, "MPICC": str(prefix / "bin" / "mpicc"), "CFLAGS": flags, "MPI4PY_BUILD_MPIABI": "0"}
    # Compiles a copy at a fixed place relative to the library, so that ccache finds the results of other checkouts.
    if shutil.which("ccache"):
        settings |= {"HEADRACE_CC": f"ccache {settings.get('HEADRACE_CC', 'gcc')}",
                     "CCACHE_BASEDIR": os.path.commonpath([prefix.resolve(), environment.resolve()])}
    with tarfile.open(source) as archive:
        archive.extractall(environment / "compiled")
    run(*pip, "install", "--no-build-isolation", "--no-deps", environment / "compiled" / f"mpi4py-{VERSION}", env=settings)
    ready.touch()
    return 0


def wheel(prefix: Path, environment: Path) -> int:
    """Installs the wheel, which opens MPICH's ABI (libmpi.so.12) in the environment's lib; the sources are only needed for their tests."""
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
    """Returns the environment of a user without any settings."""
    return {name: value for name, value in os.environ.items() if not re.match("LD_|MPI|HEADRACE_", name)}


def failed_tests(log: str) -> list[str]:
    """Returns the names in unittest's "ERROR: test (module.Class.test)" lines, each once, from any rank."""
    names = set()
    for match in re.finditer(r"^(?:\[[^\]]*\] )?(?:ERROR|FAIL): (\S+) \(([^)]*)\)", log, re.MULTILINE):
        test, place = match.groups()
        names.add(place if place.endswith(test) else f"{place}.{test}")
    return sorted(names)


def suite(environment: Path, start: list, ranks: int, settings: dict[str, str], name: str, timeout: int,
          only: list[str] = (), without: str = "", without_tests: list[str] = ()) -> tuple[int, list[str], int] | None:
    """Runs the suite with the command `start`, without modules that match the pattern and tests of those names. Returns
    the number of tests that passed, the names of unexpected failures and the number of skipped tests, or None if the
    suite did not finish."""
    command = [*start, environment / "bin" / "python", "test/main.py", "-v"]
    for module in only:
        command += ["-i", module]
    if without:
        command += ["-e", without]
    for test_name in without_tests:
        command += ["-x", test_name]
    log_path = environment / f"{name}.txt"
    with open(log_path, "w", encoding="utf-8") as log_file:
        child = subprocess.Popen([str(part) for part in command], cwd=environment / f"mpi4py-{VERSION}", env=settings,
                                 stdin=subprocess.DEVNULL, stdout=log_file, stderr=subprocess.STDOUT)
        try:
            child.wait(timeout)
        except subprocess.TimeoutExpired:
            child.terminate()
            child.wait(30)
    log = log_path.read_text(encoding="utf-8", errors="replace")
    totals = re.findall(r"Ran (\d+) tests in ([\d.]+)s\s+(OK|FAILED)(?: \(([^)]*)\))?", log)
    if len(totals) < 1:
        print("\n".join(log.splitlines()[-60:]))
        print(f"mpi4py on {ranks} ranks did not come to its end (exit code {child.returncode}); {log_path}")
        return None
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
    skipped = re.search(r"skipped=(\d+)", details)
    skipped = int(skipped[1]) if skipped else 0
    return int(ran) - len(failed) - skipped, surprises, skipped


def test(prefix: Path, environment: Path, ranks: int, timeout: int, only: list[str], several: bool) -> int:
    start = [prefix / "bin" / "mpiexec", "--timeout", str(timeout), "-n", str(ranks)]
    settings = {**os.environ, "MPI4PY_TEST_SPAWN": "1"}
    without = OF_ONE_PROCESS if several or settings.get("HEADRACE_AS_HOSTS", "1") != "1" else ""
    result = suite(environment, start, ranks, settings, f"ranks-{ranks}", timeout + 60, only, without)
    return 0 if result is not None and not result[1] else 1


def end_of(command: list, name: str, environment: Path, folder: Path, timeout: int, settings: dict[str, str]) -> bool:
    """Runs one of the pool programs; returns true if it succeeded in time."""
    log_path = environment / f"futures-{name}.txt"
    with open(log_path, "w", encoding="utf-8") as log_file:
        try:
            code = subprocess.run([str(part) for part in command], cwd=folder, env=settings, stdout=log_file,
                                  stderr=subprocess.STDOUT, check=False, timeout=timeout).returncode
        except subprocess.TimeoutExpired:
            code = -1
    log = log_path.read_text(encoding="utf-8", errors="replace")
    totals = re.findall(r"Ran (\d+) tests in ([\d.]+)s\s+(OK|FAILED)", log)
    good = code == 0 and bool(totals) and all(state == "OK" for _, _, state in totals)
    print(f"mpi4py.futures, {name}: {'; '.join(f'{ran} tests in {seconds} s, {state}' for ran, seconds, state in totals)}"
          f"{'' if good else f' (exit code {code}); see {log_path}'}")
    return good


def futures(prefix: Path, environment: Path, timeout: int) -> int:
    """Tests pools whose workers are spawned, by a job and by a process without a launcher, and a server to which others
    connect."""
    folder = environment / f"mpi4py-{VERSION}" / "demo" / "futures"
    python = environment.resolve() / "bin" / "python"
    launch = [prefix / "bin" / "mpiexec", "--timeout", str(timeout), "-n"]
    library = f"{prefix / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    alone = {**os.environ, "LD_LIBRARY_PATH": library}
    good = end_of([*launch, "1", python, "test_futures.py"], "spawned", environment, folder, timeout, dict(os.environ))
    good &= end_of([*launch, "2", python, "-m", "mpi4py.futures", "test_futures.py"], "of-the-job", environment, folder,
                   timeout, dict(os.environ))
    good &= end_of([python, "test_futures.py"], "alone", environment, folder, timeout, alone)
    server = subprocess.Popen([str(part) for part in [*launch, "2", python, "-m", "mpi4py.futures.server", "--bind",
                                                      "localhost"]], cwd=folder)
    try:
        good &= end_of(["sh", "-c", f"for try in 1 2 3 4 5 6 7 8 9; do sleep 1; {prefix / 'bin' / 'mpiexec'} -n 1 {python} "
                        "test_service.py --host localhost && echo 'Ran 1 tests in 0s' && echo OK && exit 0; done; exit 1"],
                       "served", environment, folder, timeout, dict(os.environ))
        good &= server.wait(timeout=30) == 0
    except subprocess.TimeoutExpired:
        good = False
    finally:
        server.kill()
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, required=True)
    parser.add_argument("--environment", type=Path, required=True)
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("build")
    actions.add_parser("wheel")
    pools = actions.add_parser("futures")
    pools.add_argument("--timeout", type=int, default=240)
    suite = actions.add_parser("test")
    suite.add_argument("--ranks", type=int, required=True)
    suite.add_argument("--timeout", type=int, default=900)
    suite.add_argument("--only", nargs="*", default=[], help="modules of the suite, by patterns")
    suite.add_argument("--several", action="store_true", help="leave out the modules about one process")
    arguments = parser.parse_args()
    arguments.prefix = arguments.prefix.resolve()
    arguments.environment = arguments.environment.absolute()
    if arguments.action == "build":
        return build(arguments.prefix, arguments.environment)
    if arguments.action == "wheel":
        return wheel(arguments.prefix, arguments.environment)
    if arguments.action == "futures":
        return futures(arguments.prefix, arguments.environment, arguments.timeout)
    return test(arguments.prefix, arguments.environment, arguments.ranks, arguments.timeout, arguments.only, arguments.several)


if __name__ == "__main__":
    sys.exit(main())
