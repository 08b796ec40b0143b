"""Numbers of driver calls that the fake driver counts (FAKE_CUDA_COUNTS, tests/fake_cuda)."""

import os
import subprocess
from collections import Counter
from pathlib import Path

ALL_THREADS, FIRST_THREAD = 1, 2  # indices of columns in its files


def each(prefix: Path, ranks: int, column: int, *command: str) -> list[Counter]:
    """Runs a program on `ranks` ranks; returns the calls of each rank by name, in any order. `prefix`: of the files written."""
    subprocess.run([os.environ["HR_MPIEXEC"], "--timeout", "60", "-n", str(ranks), *command],
                   env={**os.environ, "FAKE_CUDA_COUNTS": str(prefix)}, check=True, timeout=90, stdout=subprocess.DEVNULL)
    return read_each(prefix, ranks, column)


def read_each(prefix: Path, ranks: int, column: int) -> list[Counter]:
    """Returns the calls of each rank of a program that has written these files."""
    files = list(prefix.parent.glob(f"{prefix.name}.*"))
    assert len(files) == ranks, files
    return [Counter({words[0]: int(words[column]) for words in map(str.split, file.read_text(encoding="utf-8").splitlines())})
            for file in files]


def read(prefix: Path, ranks: int, column: int) -> Counter:
    return sum(read_each(prefix, ranks, column), Counter())


def calls(prefix: Path, ranks: int, column: int, *command: str) -> Counter:
    """Returns the sum of the calls of all ranks by name."""
    return sum(each(prefix, ranks, column, *command), Counter())
