#!/usr/bin/env python3
"""Other projects' programs and their checks on Headrace: unchanged sources from Debian or PyPI, built with Headrace's
mpicc.

  run.py --prefix P --work W [--hosts 1 2] [--ranks 4] [NAME ...]     P/bin has mpicc and mpiexec; W keeps sources and builds;
                                                                      NAME: hdf5, or hdf5:t_cache for one of its tests
  run.py --prefix P --work W --fetch|--build [NAME ...]               only fetches the sources, or builds the programs
  run.py --prefix P --work W --list                                   the names of all tests

Existing programs are not fetched or built again: the library is found at run time. Prints the result of each test of
each program and the totals; the exit code is 1 if one failed. The programs are described in packages.py.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import packages

# Fetches Debian's sources from the system's package sources, with separate files, so that the system's configuration stays unchanged.
APT = """Dir::Etc::sourcelist "{0}/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "{0}/lists";
"""
LINES_OF_FAILURE = 40  # of a log, which are printed


def fetch_debian(name: str, work: Path) -> Path:
    """Returns the unpacked source package, with Debian's patches."""
    to = work / "src" / name
    if to.exists():
        return to
    apt = work / "apt"
    (apt / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    to.parent.mkdir(exist_ok=True)
    indices = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)",
                              "Created-By: Packages"], check=True, capture_output=True, text=True).stdout
    (apt / "sources.list").write_text("".join(f"deb-src {index}\n" for index in sorted(set(indices.splitlines()))))
    (apt / "conf").write_text(APT.format(apt))
    environment = {**os.environ, "APT_CONFIG": str(apt / "conf")}
    for command in (["apt-get", "update", "-q"], ["apt-get", "source", "-q", "--download-only", name]):
        subprocess.run(command, check=True, cwd=to.parent, env=environment, stdout=subprocess.DEVNULL)
    description = next(to.parent.glob(f"{name}_*.dsc"))
    subprocess.run(["dpkg-source", "--no-check", "-x", description, to], check=True, stdout=subprocess.DEVNULL)
    return to


def fetch_python(name: str, needs: list[str], work: Path) -> Path:
    """Returns the unpacked source distribution, next to an environment for its build (without isolation, so that numpy
    is not rebuilt)."""
    to = work / "src" / name
    if to.exists():
        return to
    environment = work / "build" / name / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
    pip = [environment / "bin" / "python", "-m", "pip", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "setuptools>=61", "wheel", *needs], check=True)
    archives = work / "archives" / name
    subprocess.run([*pip, "download", "--no-binary", name, "--no-deps", "--no-build-isolation", "-d", archives, name], check=True)
    to.mkdir(parents=True)
    with tarfile.open(next(archives.glob("*.tar.gz"))) as archive:
        for member in archive.getmembers():  # without the top folder of the archive
            member.name = member.name.partition("/")[2] or "."
            archive.extract(member, to)
    return to


def fetch(package: packages.Package, work: Path) -> Path:
    return fetch_python(package.name, package.python_needs, work) if package.python else fetch_debian(package.name, work)


def build(package: packages.Package, work: Path, environment: dict[str, str]) -> Path:
    """Returns the build directory; creates it once."""
    source = fetch(package, work)
    to = work / "build" / package.name
    if (to / "built").exists():
        return to
    to.mkdir(parents=True, exist_ok=True)
    with open(to / "build.log", "w", encoding="utf-8") as log:
        for step in package.build:
            words = [word.format(source=source, build=to, cpus=os.cpu_count()) for word in step]
            where = source if step[0] == "autoreconf" else to
            if subprocess.run(words, cwd=where, env=environment, stdout=log, stderr=log, check=False).returncode != 0:
                sys.exit(f"{package.name}: {' '.join(words)} failed; see {log.name}")
    (to / "built").touch()
    return to


def run(package: packages.Package, build_directory: Path, source: Path, hosts: int, ranks: int, names: list[str],
        environment: dict[str, str]) -> tuple[int, int]:
    """Returns the numbers of tests that passed and failed."""
    passed = failed = 0
    results = build_directory / f"results-{hosts}"
    results.mkdir(exist_ok=True)
    settings = {**environment, **package.settings, "HEADRACE_AS_HOSTS": str(hosts), "srcdir": str(source / package.tests_in)}
    where = (source if package.tests_in_source else build_directory) / package.tests_in
    for test in package.tests:
        if names and package.name not in names and f"{package.name}:{test.name}" not in names:
            continue
        words = [word.format(ranks=ranks, limit=test.limit, build=build_directory, source=source, results=results) for word in test.command]
        begun = time.monotonic()
        log = results / f"{test.name}.log"
        with open(log, "w", encoding="utf-8") as output:
            code = subprocess.run(words, cwd=where, env=settings, stdout=output, stderr=output,
                                  stdin=subprocess.DEVNULL, check=False).returncode
        said = log.read_text(encoding="utf-8", errors="replace")
        good, bad = test.count(said, code)
        passed += good
        failed += bad
        how = "ok" if bad == 0 else f"FAILED, see {log}"
        print(f"{package.name} {test.name}, {hosts} host(s): {good} passed, {bad} failed, {time.monotonic() - begun:.0f} s: {how}", flush=True)
        if bad != 0:  # the end of the log, as the directory may be temporary
            print("".join(f"    {line}\n" for line in said.splitlines()[-LINES_OF_FAILURE:]), end="", flush=True)
    return passed, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--ranks", type=int, default=4)
    only = parser.add_mutually_exclusive_group()
    for word in ("--fetch", "--build", "--list"):
        only.add_argument(word, action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    given = parser.parse_args()
    if given.list:
        print("\n".join(f"{package.name}:{test.name}" for package in packages.ALL for test in package.tests))
        return 0
    work = given.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PATH": f"{given.prefix.resolve() / 'bin'}:{os.environ['PATH']}", "HEADRACE_OVERSUBSCRIBE": "quiet"}
    passed = failed = 0
    for package in packages.ALL:
        if given.names and package.name not in (name.partition(":")[0] for name in given.names):
            continue
        if given.fetch:
            fetch(package, work)
            continue
        directory = build(package, work, environment)
        if given.build:
            continue
        for hosts in given.hosts:
            good, bad = run(package, directory, work / "src" / package.name, hosts, given.ranks, given.names, environment)
            passed, failed = passed + good, failed + bad
    if given.fetch or given.build:
        return 0
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
