#!/usr/bin/env python3
"""Kills ranks at random moments, many times: soak.py BUILD_FOLDER [--deaths N] [--seed S] [--without-recovery]

In each run, ranks die one at a time, in random operations or in a computation (tests/fault/recover), on one host or as
if on two, on host or (fake) device memory. With --without-recovery, one rank of a program from the tree is killed from
outside: the job must end within 10 s, with the exit code of the signal and a message that names the rank. A failure is
shown with the command that repeats it; a run that takes longer than a minute counts as a hang, and mpiexec shows where
its ranks were. Needs the targets named below, and fake_cuda_all.
"""

import argparse
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

MARK = "HR_SOAK_MARK"
END = 10.0  # seconds after a death within which a job without recovery ends
PROGRAMS = (
    ("gpu_tests/mpi_random_exchange", "--exchanges", "10000000"),
    ("gpu_tests/mpi_rma_random_mix", "allocate", "--epochs", "1000000"),
    ("gpu_tests/mpi_rma_random_mix", "create", "--epochs", "1000000"),
    ("bin/halo3d", "--local", "16", "--steps", "1000000", "--no-identity-check"),
    ("bin/collective", "--op", "allreduce", "--reps", "1000000", "--seconds", "1000"),
    ("bin/collective", "--op", "alltoallv", "--reps", "1000000", "--seconds", "1000"),
)


@dataclass
class Job:
    """Start of a job: ranks, options of mpiexec, environment."""

    build: Path
    ranks: int
    words: list = field(default_factory=list)
    variables: dict = field(default_factory=dict)

    @classmethod
    def drawn(cls, build: Path) -> "Job":
        job = cls(build, random.randint(2, 8))
        job.words = random.choice(([], [], ["--as-hosts", "2"])) if job.ranks > 2 else []
        if random.random() < 0.3:
            job.variables = {"LD_LIBRARY_PATH": str(build / "fake_cuda"), "FAKE_CUDA_DEVICES": "2"}
        return job

    def command(self, *program) -> list[str]:
        first, *rest = program
        return [str(self.build / "bin/mpiexec"), "--timeout", "60", "-n", str(self.ranks), *self.words,
                str(self.build / first), *map(str, rest)]

    def environment(self) -> dict[str, str]:
        return {**os.environ, "HEADRACE_OVERSUBSCRIBE": "quiet", **self.variables}

    def shown(self, command: list[str]) -> str:
        settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in self.variables.items())
        return f"{settings} {shlex.join(command)}"


def left_over() -> set[str]:
    return {entry.name for entry in Path("/dev/shm").iterdir() if entry.name.startswith("headrace.headrace_")}


def recovers(job: Job) -> tuple[int, str]:
    """Returns the number of deaths, and what went wrong."""
    what = random.choice(("random", "random", "solver", "leave"))
    deaths = 1 if what == "leave" else random.randint(1, job.ranks - 1)
    command = job.command("tests/fault/recover", what, random.randrange(1 << 31), deaths)
    command.insert(1, "--enable-recovery")
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=job.environment())
    left = job.ranks - deaths
    if result.stdout == f"recovered, {left} are left\n" * left:
        return deaths, ""
    return deaths, f"({result.returncode}): {job.shown(command)}\n{result.stdout}{result.stderr}"


def ranks_of(mark: str) -> dict[int, int]:
    """Returns the process of each rank, among those with the mark."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        rank = next((int(each[9:]) for each in environment if each.startswith(b"PMI_RANK=")), None)
        if rank is not None and f"{MARK}={mark}".encode() in environment:
            found[rank] = int(folder.name)
    return found


def ends(job: Job) -> tuple[int, str]:
    """Kills one rank; returns the number of deaths, and what went wrong."""
    command = job.command(*random.choice(PROGRAMS))
    mark = str(random.randrange(1 << 60))
    delay, victim = random.random() * 0.6, random.randrange(job.ranks)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**job.environment(), MARK: mark}) as child:
        limit = time.monotonic() + 30
        while victim not in (ranks := ranks_of(mark)) and child.poll() is None and time.monotonic() < limit:
            time.sleep(0.005)
        time.sleep(delay)  # a random moment
        killed = child.poll() is None and victim in ranks
        if killed:
            os.kill(ranks[victim], signal.SIGKILL)
        begun = time.monotonic()
        output, errors = child.communicate()
        took = time.monotonic() - begun
    wrong = []
    if not killed:
        wrong.append("it ended before anything was killed")
    if took > END:
        wrong.append(f"it took {took:.1f} s to end")
    if child.returncode != 128 + signal.SIGKILL:
        wrong.append(f"exit code {child.returncode}")
    if not re.search(rf"rank {victim} on .* was killed by signal 9", errors):
        wrong.append(f"nothing names rank {victim}")
    if ranks_of(mark):
        wrong.append("processes are left")
    return 1, f"{', '.join(wrong)}: {job.shown(command)}\n{output[-2000:]}{errors}" if wrong else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--deaths", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--without-recovery", action="store_true")
    args = parser.parse_args()
    random.seed(args.seed)
    before = left_over()
    print(f"{args.deaths} deaths, seed {args.seed}", flush=True)
    died = failed = runs = 0
    longest = 0.0
    while died < args.deaths:
        begun = time.monotonic()
        deaths, wrong = (ends if args.without_recovery else recovers)(Job.drawn(args.build.resolve()))
        longest = max(longest, time.monotonic() - begun)
        died += deaths
        runs += 1
        if wrong:
            failed += 1
            print(f"FAILED {wrong}", flush=True)
    limit = time.monotonic() + 10
    while (files := left_over() - before) and time.monotonic() < limit:
        time.sleep(0.02)
    print(f"{died} deaths in {runs} runs: {failed} runs failed, the longest took {longest:.1f} s, "
          f"{len(files)} files are left in /dev/shm")
    return 1 if failed or files else 0


if __name__ == "__main__":
    sys.exit(main())
