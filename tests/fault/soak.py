#!/usr/bin/env python3
"""Kills ranks at random moments, many times: soak.py BUILD_FOLDER [deaths [seed]]

Each run of tests/fault/recover has ranks die one after the other, in random operations or in a computation, on one host or
as if on two, on host or (fake) device memory. What goes wrong is shown with the command that repeats it; a run that takes
longer than a minute counts as a hang, and mpiexec shows where its ranks were. Needs the targets recover and fake_cuda_all.
"""

import os
import random
import shlex
import subprocess
import sys
import time
from pathlib import Path


def left_over() -> set[str]:
    return {entry.name for entry in Path("/dev/shm").iterdir() if entry.name.startswith("headrace.headrace_")}


def main() -> int:
    build = Path(sys.argv[1])
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
    random.seed(seed)
    print(f"{wanted} deaths, seed {seed}", flush=True)
    died = failed = runs = 0
    longest = 0.0
    while died < wanted:
        ranks = random.randint(2, 8)
        deaths = random.randint(1, ranks - 1)
        what = random.choice(("random", "random", "solver", "leave"))
        if what == "leave":
            deaths = 1
        words = random.choice(([], [], ["--as-hosts", "2"])) if ranks > 2 else []
        variables = {}
        if random.random() < 0.3:
            variables = {"LD_LIBRARY_PATH": str(build / "fake_cuda"), "FAKE_CUDA_DEVICES": "2"}
        command = [str(build / "bin/mpiexec"), "--enable-recovery", "--timeout", "60", "-n", str(ranks), *words,
                   str(build / "tests/fault/recover"), what, str(random.randrange(1 << 31)), str(deaths)]
        begun = time.monotonic()
        result = subprocess.run(command, capture_output=True, text=True, check=False,
                                env={**os.environ, "HEADRACE_OVERSUBSCRIBE": "quiet", **variables})
        longest = max(longest, time.monotonic() - begun)
        runs += 1
        died += deaths
        left = ranks - deaths
        if result.stdout != f"recovered, {left} are left\n" * left:
            failed += 1
            settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
            print(f"FAILED ({result.returncode}): {settings} {shlex.join(command)}\n{result.stdout}{result.stderr}", flush=True)
    time.sleep(0.5)
    files = left_over()
    print(f"{died} deaths in {runs} runs: {failed} runs failed, the longest took {longest:.1f} s, "
          f"{len(files)} files are in /dev/shm")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
