"""Numbers of driver calls that the fake driver counts (FAKE_CUDA_COUNTS, tests/fake_cuda)."""

import os
import subprocess
from collections import Counter
from pathlib import Path

ALL_THREADS, FIRST_THREAD = 1, 2  # indices of columns in its files


def calls(prefix: Path, ranks: int, column: int, *command: str) -> Counter:
    """Runs a program on `ranks` ranks; returns the sum of their calls by name. `prefix`: of the files written."""
    subprocess.run([os.environ["HR_MPIEXEC"], "--timeout", "60", "-n", str(ranks), *command],
                   env={**os.environ, "FAKE_CUDA_COUNTS": str(prefix)}, check=True, timeout=90, stdout=subprocess.DEVNULL)
    files = list(prefix.parent.glob(f"{prefix.name}.*"))
    assert len(files) == ranks, files
    total = Counter()
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            words = line.split()
            total[words[0]] += int(words[column])
    return total
