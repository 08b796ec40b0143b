#!/usr/bin/env python3
"""Runs each pair of pairs.c under HEADRACE_CHECK=full: the wrong program gets its diagnostic, the right one gets none.

  pairs.py MPIEXEC PROGRAM [PAIR ...]
"""

import concurrent.futures
import re
import subprocess
import sys

FOUND = re.compile(r"check full: |MPI_ERR_")


def fault(mpiexec: str, program: str, name: str, ranks: str, diagnostic: str, how: str) -> str:
    ran = subprocess.run([mpiexec, "--timeout", "100", "-n", ranks, program, name, how], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=150, check=False)
    if how == "right":
        good = ran.returncode == 0 and not FOUND.search(ran.stdout)
    else:
        good = ran.returncode != 124 and re.search(diagnostic, ran.stdout)
    return "" if good else f"{name} {how}: exit status {ran.returncode}\n{ran.stdout}"


def main() -> int:
    mpiexec, program, *chosen = sys.argv[1:]
    listed = subprocess.run([program, "list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    pairs = [line.split("\t") for line in listed.splitlines()]
    pairs = [pair for pair in pairs if not chosen or pair[0] in chosen]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        faults = [text for text in pool.map(lambda run: fault(mpiexec, program, *run),
                                            [(*pair, how) for pair in pairs for how in ("wrong", "right")]) if text]
    print(*faults, f"{len(pairs)} pairs, {len(faults)} faults", sep="\n")
    return 1 if faults or not pairs else 0


if __name__ == "__main__":
    sys.exit(main())
