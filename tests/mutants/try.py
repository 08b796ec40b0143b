#!/usr/bin/env python3
"""try.py NUMBER... [--only REGEX] [--hosts N]: prints which test of the change tier finds a fault of faults.py, as rows of a table.

Works on a copy of the tree in build/mutants, which is kept for the next call: sources with the fault, and a build of
them, so that tests that link a layer contain the fault, too. Tests run until the first failure: the unit tests, those
whose names contain the fault's layer, the others on one host, and the others as if on two hosts. A test that failed
must pass without the fault. With --only, only tests of both tiers with this name run, and only what they need is built.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from faults import ALL, Fault

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "build/mutants"
BUILD = COPY / "build/pip"  # the same path as in a checkout, so that ccache finds its entries
CHANGE = ["-LE", "^night$"]
LOG = BUILD / "ctest.log"


def copy_tree() -> None:
    """Makes the copy equal to the tree; unchanged files are not written, so that nothing is rebuilt needlessly."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split("\0")
    wanted = {COPY / name for name in names if name and (ROOT / name).is_file()}
    for path in COPY.rglob("*"):
        if path not in wanted and not path.is_dir() and BUILD not in path.parents:
            path.unlink()
    for path in wanted:
        source = ROOT / path.relative_to(COPY)
        if path.is_file() and path.read_bytes() == source.read_bytes():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, path)
    if not (BUILD / "build.ninja").exists():
        run(["cmake", "-G", "Ninja", "-S", str(COPY), "-B", str(BUILD), "-DCMAKE_BUILD_TYPE=Release", "-DHEADRACE_TESTS=ON",
             "-DHEADRACE_WERROR=ON", f"-DPython3_EXECUTABLE={sys.executable}"])


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command[:4])} ... failed:\n{(done.stdout + done.stderr)[-3000:]}")


def ctest(options: list[str]) -> list[str]:
    return ["ctest", "--test-dir", str(BUILD), *options]


def described(options: list[str]) -> list[dict]:
    """Returns the tests selected by these options, as ctest describes them."""
    done = subprocess.run(ctest(["--show-only=json-v1", *options]), check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["tests"]


def properties(test: dict, name: str) -> list[str]:
    return [value for each in test["properties"] if each["name"] == name for value in each["value"]]


def build(only: str | None) -> None:
    """Builds everything or, for the tests that match `only`, the library, mpiexec, and the targets that their commands and environments
    name."""
    make = ["ninja", "-C", str(BUILD)]
    if not only:
        return run(make)
    run([*make, "mpi_abi", "mpiexec"])
    tests = described(["-R", only])
    words = {word for test in tests for word in test.get("command", [])}
    words |= {each.partition("=")[2] for test in tests for each in properties(test, "ENVIRONMENT")}
    names = {word.removeprefix(f"{BUILD}/") for word in words if word.startswith(f"{BUILD}/")}
    unbuilt = {test["name"] for test in tests if "command" not in test}
    rules = subprocess.run([*make, "-t", "targets", "all"], check=True, capture_output=True, text=True).stdout
    targets = []
    for target in sorted({line.split(":")[0] for line in rules.splitlines()}):
        directory, _, name = target.rpartition("/")
        if target in names or (directory and name in unbuilt) or (directory in names and ".so" in name):
            targets.append(target)
    return run([*make, *targets])


def first_failure(options: list[str], hosts: int) -> str:
    """Returns the first test that failed, or None."""
    environment = dict(os.environ, HEADRACE_AS_HOSTS=str(hosts)) if hosts > 1 else dict(os.environ)
    failed = BUILD / "Testing/Temporary/LastTestsFailed.log"
    failed.unlink(missing_ok=True)
    with LOG.open("a") as log:
        subprocess.run(ctest([*options, "--stop-on-failure", "--output-on-failure", "--no-tests=ignore", "-j",
                              str(os.cpu_count())]), env=environment, stdout=log, stderr=log)
    return failed.read_text().split("\n")[0].partition(":")[2] if failed.exists() else ""


def stages(fault: Fault, only: str | None, hosts: int) -> Iterator[tuple[list[str], int]]:
    """Returns ctest's options, and the number of hosts."""
    if only:
        yield ["-R", only], hosts
        return
    layer = fault.file.split("/")[1]
    yield ["-R", "^unit_", *CHANGE], 1
    yield ["-R", f"_{layer}_", *CHANGE], 1
    yield ["-E", f"^unit_|_{layer}_", *CHANGE], 1
    yield ["-L", "^as_hosts$", *CHANGE], 2


def attempt(number: int, only: str | None, hosts: int) -> bool:
    """Prints the row of one fault. Returns False if no test has found it."""
    fault = ALL[number - 1]
    found, on = "", hosts
    with fault.applied(COPY):
        build(only)
        for options, on in stages(fault, only, hosts):
            if found := first_failure(options, on):
                break
    tier = ""
    sound = False
    if found:
        build(only)
        exactly = ["-R", f"^{found}$"]
        sound = not first_failure(exactly, on)
        labels = properties(described(exactly)[0], "LABELS")
        tier = ("night" if "night" in labels else "change") + (f", as {on} hosts" if on > 1 else "")
    remark = "" if sound or not found else " (fails without the fault as well)"
    print(f"| {number} | {fault.name} | {found or 'not found'}{remark} | {tier} |", flush=True)
    return sound


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("numbers", type=int, nargs="+", choices=range(1, len(ALL) + 1), metavar="NUMBER")
    parser.add_argument("--only", metavar="REGEX", help="run the tests of this name alone")
    parser.add_argument("--hosts", type=int, default=1, help="with --only: as so many hosts")
    given = parser.parse_args()
    copy_tree()
    LOG.unlink(missing_ok=True)
    try:
        return 0 if all([attempt(number, given.only, given.hosts) for number in given.numbers]) else 1
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    sys.exit(main())
