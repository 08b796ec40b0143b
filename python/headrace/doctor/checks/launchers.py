"""Checks the launchers that can start ranks here and on other hosts."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from headrace.bench.child import Failed
from headrace.doctor.checks import other_mpi
from headrace.doctor.facts import Facts, is_file
from headrace.doctor.finding import Finding, error, note, ok, warning

_SECONDS = 5
_PMI = ("PMI_FD", "PMI_PORT", "PMI_RANK", "PMIX_RANK")


def _slurm(facts: Facts) -> Iterator[Finding]:
    environment = facts.environment
    job = environment.get("SLURM_JOB_ID")
    has_srun = bool(facts.programs("srun"))
    tasks = environment.get("SLURM_STEP_NUM_TASKS", "1")
    if "SLURM_PROCID" in environment and tasks != "1" and not any(name in environment for name in _PMI):
        yield warning("launch.slurm-without-pmi", f"this is one of {tasks} tasks of srun, and none of {', '.join(_PMI)} is set",
                      "each task is a job of one rank", "srun --mpi=pmi2 (or --mpi=pmix)")
    if job and not has_srun:
        yield error("launch.no-srun", f"this is Slurm job {job}, and srun is not in PATH",
                    "mpiexec cannot reach the other hosts", "add srun to PATH (in a container: mount it), or HEADRACE_LAUNCHER=ssh")
    elif job:
        nodes = environment.get("SLURM_JOB_NODELIST", "?")
        yield ok("launch.slurm-job", f"Slurm job {job} on {nodes}: mpiexec takes its hosts and starts ranks by srun")
    elif has_srun:
        yield ok("launch.slurm", "srun is there: inside an allocation mpiexec uses it; srun --mpi=pmi2 starts programs, too")


def _pmix(facts: Facts) -> Iterator[Finding]:
    started_by_it = "PMIX_NAMESPACE" in facts.environment
    if not started_by_it and not facts.programs("prterun") and not facts.programs("srun"):
        return
    directory = facts.environment.get("HEADRACE_PMIX_DIR")
    library = f"{directory}/libpmix.so.2" if directory else "libpmix.so.2"
    try:
        facts.run([sys.executable, "-B", "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", library], _SECONDS, {})
        yield ok("launch.pmix", f"{library} is there: programs also start by srun --mpi=pmix and prterun")
    except Failed:
        text = f"the loader does not find {library}"
        cost = "programs started by srun --mpi=pmix or prterun end in MPI_Init, unless the launcher brings its own"
        remedy = "HEADRACE_PMIX_DIR=<its directory>; or start by mpiexec or srun --mpi=pmi2"
        if started_by_it or directory:
            yield warning("launch.no-pmix", text, cost, remedy)
        else:
            yield note("launch.no-pmix", text, cost, remedy)


def look(facts: Facts) -> Iterator[Finding]:
    yield from _slurm(facts)
    yield from _pmix(facts)
    nodefile = facts.environment.get("PBS_NODEFILE")
    if nodefile and not is_file(facts.path(nodefile)):
        yield error("launch.no-nodefile", f"PBS_NODEFILE names {nodefile}, which is not there", "mpiexec does not start",
                    "unset PBS_NODEFILE outside of a PBS job")
    elif nodefile:
        yield ok("launch.pbs-job", f"a PBS job: mpiexec takes the hosts of {nodefile}")
    by = facts.environment.get("HEADRACE_LAUNCHER", "auto")
    command = "ssh" if by == "auto" else by.split(" ")[0]
    if by == "auto" and "SLURM_JOB_ID" in facts.environment:
        pass
    elif is_file(facts.path(command)) if command.startswith("/") else facts.programs(command):
        yield ok("launch.remote", f"{command} is there, with which mpiexec reaches other hosts (not tried)")
    elif by == "auto":
        yield note("launch.no-ssh", "no ssh in PATH, and this is no Slurm job", "jobs stay on this host",
                   "apt-get install openssh-client, or HEADRACE_LAUNCHER=... where another command reaches the hosts")
    else:
        yield error("launch.no-launcher", f"HEADRACE_LAUNCHER is {by}, and {command} is not in PATH",
                    "mpiexec cannot reach other hosts", "correct or unset it")
    others = [name for name in ("mpiexec.hydra", "prterun", "flux")
              if any(not other_mpi.is_ours(path) for path in facts.programs(name))]
    if others:
        yield ok("launch.others", f"also there: {', '.join(others)}")
