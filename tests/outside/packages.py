"""The programs of others that run.py builds and runs: how, which tests, and how their output is counted."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

Count = Callable[[str, int], tuple[int, int]]


def by_code(_: str, code: int) -> tuple[int, int]:
    """One test, which passed when the program ended well."""
    return (1, 0) if code == 0 else (0, 1)


def automake(text: str, code: int) -> tuple[int, int]:
    """Sums of "# PASS: n" and "# FAIL: n" (and errors) of every directory."""
    def total(word: str) -> int:
        return sum(int(number) for number in re.findall(rf"^# {word}: +(\d+)", text, re.M))
    failed = total("FAIL") + total("ERROR")
    return total("PASS"), failed or int(code != 0)


def said(passed: str, failed: str) -> Count:
    """Lines that say so."""
    def count(text: str, code: int) -> tuple[int, int]:
        bad = len(re.findall(failed, text, re.M))
        return len(re.findall(passed, text, re.M)), bad or int(code != 0)
    return count


@dataclass
class Test:
    name: str
    command: list[str]
    count: Count = by_code
    limit: int = 900


@dataclass
class Package:
    name: str  # of Debian's source, or of PyPI's
    build: list[list[str]]
    tests: list[Test]
    tests_in: str = "."  # of the build directory, of Python's of the source
    python: bool = False
    needs: list[str] = field(default_factory=list)  # Debian packages to build it


def parallel(name: str, limit: int = 900) -> Test:
    return Test(name, ["mpiexec", "--timeout", "{limit}", "-n", "{ranks}", f"./{name}"], by_code, limit)


HDF5_TESTS = ["t_mpi", "t_pread", "t_pshutdown", "t_prestart", "t_init_term", "testphdf5", "t_shapesame", "t_filters_parallel",
              "t_bigio", "t_cache", "t_cache_image"]

PIP = ["{build}/environment/bin/python", "-m", "pip", "install", "-v", "--no-build-isolation", "--no-deps"]

ALL = [
    Package(
        "hdf5",
        [["{source}/configure", "CC=mpicc", "CFLAGS=-O1 -w", "--enable-parallel", "--disable-shared", "--disable-hl",
          "--disable-fortran", "--disable-cxx", "--disable-java", "--with-default-api-version=v110"],
         ["make", "-j{cpus}", "-C", "src"],
         ["make", "-j{cpus}", "-C", "test", "libh5test.la"],
         ["make", "-j{cpus}", "-C", "testpar", *HDF5_TESTS]],
        [parallel(name, 1800 if name == "t_cache_image" else 900) for name in HDF5_TESTS],
        tests_in="testpar"),
    Package(
        "pnetcdf",
        [["autoreconf", "-fi"],
         ["{source}/configure", "MPICC=mpicc", "CFLAGS=-O1 -w", "--disable-fortran", "--disable-cxx", "--disable-shared",
          "TESTMPIRUN=mpiexec -n NP", "TESTSEQRUN="],
         ["make", "-j{cpus}"],
         ["make", "-j{cpus}", "tests"]],
        [Test("check", ["make", "check"], automake, 1800),
         Test("ptest", ["make", "ptest"], said(r"^\*\*\* TESTING .*--- pass", r"^\*\*\* TESTING .*--- fail"), 1800)],
        needs=["autoconf", "automake", "libtool", "m4"]),
    Package(
        "mpi4py-fft",
        [["env", "MPICC=mpicc", "MPI4PY_BUILD_MPIABI=0", "CFLAGS=-O0 -g0", *PIP, "--no-binary", "mpi4py", "mpi4py"],
         ["env", "CC=mpicc", "CFLAGS=-O1 -g0", *PIP, "{source}"]],
        [Test(name, ["mpiexec", "--timeout", "{limit}", "-n", "{ranks}", "{build}/environment/bin/python", f"{name}.py"])
         for name in ("test_pencil", "test_darray", "test_mpifft")],  # the others are about FFTW alone
        tests_in="tests", python=True, needs=["libfftw3-dev"]),
]
