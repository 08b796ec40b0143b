"""Programs on two hosts under the launcher of another project: test_launchers.py <launcher> <case> ... The setup contains only what the
launcher itself needs. Run by namespace_test.py, with the hosts up.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time

import launchers

BUILD = os.environ["HR_BUILD"]
HOSTS = os.environ["HR_HOSTS"]
NAMES = os.environ["HR_HOST_NAMES"].split()
SKIPPED = 77
RANKS_A_HOST = 2
RANKS = RANKS_A_HOST * len(NAMES)


# PRRTE's PMIx server occasionally fails to start its listener, and reports that before it starts a rank.
TRIES = 3
OWN_FAULT = "listener-thread-start"

# The launcher's message when a rank calls MPI_Abort with code 42: launchers other than Headrace's print something else, but fail.
ABORT_SAYS = "MPI_Abort: the program called it with code 42"


class Wrong(Exception):
    pass


def need(condition, what, done=None):
    if not condition:
        output = f"\n--- status {done.returncode}\n{done.stdout}\n--- errors\n{done.stderr}" if done else ""
        raise Wrong(what + output)


def start(launcher, program, *arguments, **environment):
    words, variables = launchers.command(launcher, NAMES, RANKS)
    environment = {**os.environ, **variables, **environment}
    environment.pop("HEADRACE_AS_HOSTS", None)
    return subprocess.Popen(
        [HOSTS, "exec", NAMES[0], *words, f"{BUILD}/{program}", *arguments], env=environment, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )


def run(launcher, program, *arguments, limit=100, **environment):
    for _ in range(TRIES):
        child = start(launcher, program, *arguments, **environment)
        try:
            out, errors = child.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, errors = child.communicate()
            raise Wrong(f"{program}: no end within {limit} s\n{out}\n{errors}") from None
        if OWN_FAULT not in errors:
            break
    return subprocess.CompletedProcess(child.args, child.returncode, out, errors)


def hello(launcher):
    done = run(launcher, "tests/fault/launch_probe", "init", "hello", "here", "exchange", "finalize")
    need(done.returncode == 0, "the exchange fails", done)
    lines = dict(re.findall(r"^rank (\d) of 4 app 0 nodes (\d{4}) launcher 1", done.stdout, re.MULTILINE))
    need(lines == {str(rank): "0011" for rank in range(4)}, f"ranks and hosts {lines}", done)
    need(len(re.findall("^2 here", done.stdout, re.MULTILINE)) == 4, "not 2 ranks share the cores of a host", done)


def alone(launcher):
    """A launcher with which no rank can communicate: each process is a job, and one of them reports that."""
    done = run(launcher, "tests/fault/launch_probe", "init", "hello", "finalize")
    need(done.returncode == 0 and done.stdout.count("rank 0 of 1 ") == RANKS, "not as many jobs", done)
    need(done.stderr.count("srun started 4 processes") == 1, "nobody says it, or all do", done)


def programs(launcher):
    for words in (
        ["tests/hosts/paths"], ["tests/mpi/mpi_ordering"], ["tests/mpi/coll/mpi_coll_reductions"],
        ["tests/mpi/coll/mpi_coll_movement"], ["gpu_tests/mpi_random_exchange", "--seed", "7", "--exchanges", "100"],
    ):
        done = run(launcher, *words)
        need(done.returncode == 0, f"{words[0]} fails", done)
        if words[0].endswith("paths"):
            need(done.stdout.split()[:4] == ["-s..", "s-..", "..-s", "..s-"], "other paths", done)


def abort(launcher):
    begin = time.monotonic()
    done = run(launcher, "tests/mpi/mpi_abort", "42", "3")
    need(done.returncode != 0, "MPI_Abort looks like success", done)
    need(ABORT_SAYS in done.stderr + done.stdout, "nothing says MPI_Abort", done)
    need(time.monotonic() - begin < 30, "MPI_Abort takes long", done)


def started(launcher):
    """Returns a job whose ranks are all running; None if the launcher itself has failed."""
    child = start(launcher, "tests/fault/launch_probe", "init", "hello", "hang")
    for _ in range(RANKS):
        line = child.stdout.readline()
        if not line.startswith("rank "):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGTERM)
            out, errors = child.communicate(timeout=30)
            if OWN_FAULT in errors:
                return None
            raise Wrong(f"no rank, but {line!r}\n--- status {child.returncode}\n{out}\n--- errors\n{errors}")
    return child


def vanish(launcher):
    """The launcher dies: so do the ranks, on all hosts (namespace_test.py checks that).

    With Slurm, only if srun is asked to end: if it is killed, the ranks continue until Slurm's InactiveLimit."""
    child = next(filter(None, (started(launcher) for _ in range(TRIES))), None)
    need(child is not None, f"{launcher} has failed to start {TRIES} times by itself")
    os.killpg(child.pid, signal.SIGTERM if launcher in ("pmi2", "pmix") else signal.SIGKILL)
    child.communicate(timeout=30)


def main() -> int:
    launcher, *cases = sys.argv[1:]
    missing = launchers.missing(launcher)
    if missing:
        print(f"skipped: {missing}")
        return SKIPPED
    for case in cases:
        begin = time.monotonic()
        try:
            {"hello": hello, "alone": alone, "programs": programs, "abort": abort, "vanish": vanish}[case](launcher)
        except Wrong as wrong:
            print(f"{launcher}, {case}: {wrong}")
            return 1
        print(f"{launcher}, {case}: ok after {time.monotonic() - begin:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
