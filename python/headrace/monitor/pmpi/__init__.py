"""`headrace monitor pmpi FILE`: builds a library for jobs of another MPI, so that the monitor sees them as completely
as possible.

    headrace monitor pmpi libheadrace_pmpi.so --mpicc mpicc        # that MPI's
    mpiexec -genv LD_PRELOAD $PWD/libheadrace_pmpi.so ...          # Open MPI: mpirun -x LD_PRELOAD=...

The library is built on this machine with that MPI's compiler wrapper, from the declarations in its mpi.h (`prototypes`,
`wrappers`) and from C files that keep a counter page in the same format as Headrace's own, because no other method
works for every MPI and version.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from headrace.command import Parser
from headrace.monitor.pmpi.prototypes import parse
from headrace.monitor.pmpi.wrappers import write

_PARTS = [Path(__file__).parent / f"{name}.c" for name in ("layout", "counting", "text", "publish")]


class Failed(Exception):
    """One sentence: why the library was not built, perhaps with the compiler's output."""


def _run(words: list[str], what: str, folder: str) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=folder, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{words[0]} could not be run: {error}") from None
    if done.returncode != 0:
        raise Failed(f"{words[0]} could not {what}:\n{done.stderr.strip()[-2000:]}")
    return done.stdout


def build(file: Path, mpicc: str) -> str:
    """Builds the library and returns a sentence. Raises Failed."""
    compiler = shutil.which(mpicc)
    if compiler is None:
        raise Failed(f"{mpicc} is not there; --mpicc names the compiler of the MPI whose jobs are to be seen")
    with tempfile.TemporaryDirectory(prefix="headrace-pmpi-") as folder:
        (Path(folder) / "mpi.c").write_text("#include <mpi.h>\n")
        functions = parse(_run([compiler, "-E", "-P", "mpi.c"], "read its mpi.h", folder))
        if not any(function.name == "Send" for function in functions):
            raise Failed(f"the mpi.h of {mpicc} declares no MPI_Send and PMPI_Send; it is of no MPI that can be looked into")
        (Path(folder) / "wrappers.c").write_text(write(functions, _PARTS))
        _run([compiler, "-O2", "-w", "-fPIC", "-shared", "-pthread", "-o", str(file.resolve()), "wrappers.c"], "compile it", folder)
    return f"{file}: {len(functions)} functions of {compiler}. Preload it in the ranks (LD_PRELOAD={file.resolve()})"


def define(parser: Parser) -> None:
    parser.set_defaults(execute=run)
    parser.description = ("Builds a library that shows jobs of another MPI library in the monitor: calls, their time, messages by peer. Jobs of "
                          "Headrace need none.")
    parser.add_argument("file", type=Path, help="the library to write, for example libheadrace_pmpi.so")
    parser.add_argument("--mpicc", default="mpicc", help="the compiler of that MPI (%(default)s)")


def run(args: argparse.Namespace) -> int:
    try:
        print(build(args.file, args.mpicc))
    except Failed as failed:
        print(f"headrace monitor: {failed}", file=sys.stderr)
        return 2
    return 0
