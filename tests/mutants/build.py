#!/usr/bin/env python3
"""build.py BUILD_DIR OUTPUT [NUMBER...]: builds libmpi_abi.so.1 once for each fault of faults.py, as OUTPUT/NN.so.

The sources are changed in place and always restored; the build directory is the same afterwards.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from faults import ALL

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    build, output = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    numbers = [int(word) for word in sys.argv[3:]] or range(1, len(ALL) + 1)
    output.mkdir(parents=True, exist_ok=True)
    make = ["ninja", "-C", str(build), "mpi_abi"]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    for number in numbers:
        fault = ALL[number - 1]
        with fault.applied(ROOT):
            made = subprocess.run(make, capture_output=True, text=True)
            if made.returncode:
                print(f"{number}: does not build:\n{made.stdout[-1500:]}", file=sys.stderr)
                continue
            shutil.copy(build / "lib/libmpi_abi.so.1", output / f"{number:02}.so")
            print(f"{number:2} {fault.name}", flush=True)
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ValueError as error:
        sys.exit(str(error))
