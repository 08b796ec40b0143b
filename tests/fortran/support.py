"""Builds and runs the programs of the Fortran tests: with mpifort from the build tree, in which its modules are also
kept."""

import os
import shutil
import subprocess
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ["HR_BUILD"])
CACHE = BUILD / "fortran-cache"
WORK = BUILD / "fortran-tests"
COMPILER = os.environ.get("HEADRACE_FC") or shutil.which("gfortran")
ENVIRONMENT = {**os.environ, "HEADRACE_FORTRAN_CACHE": str(CACHE), "HEADRACE_OVERSUBSCRIBE": "quiet"}

needs_compiler = unittest.skipUnless(COMPILER, "there is no Fortran compiler here (gfortran)")


def run(*command, timeout=120, check=True, env=None, **options):
    finished = subprocess.run([str(word) for word in command], text=True, timeout=timeout, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=env or ENVIRONMENT, **options)
    if check and finished.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit code {finished.returncode}\n{finished.stdout}")
    return finished.stdout if check else finished


def mpifort(*words, **options):
    return run(BUILD / "bin/mpifort", *words, **options)


def mpiexec(ranks, *command, timeout=60, **options):
    return run(BUILD / "bin/mpiexec", "--timeout", timeout, "-n", ranks, *command, timeout=timeout + 60, **options)
