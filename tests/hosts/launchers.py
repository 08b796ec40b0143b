"""Commands that start a job over hosts with each launcher, ranks in blocks. Nothing is set for Headrace.

Nothing is bound: the hosts have the same cores, so binding would put ranks of several hosts on one core.
"""

import os
import shutil

PEERS = os.environ.get("HEADRACE_PEERS", "")


def a_host(names, ranks):
    return -(-ranks // len(names))


def _slurm(kind):
    def words(names, ranks, _):
        hosts = min(len(names), ranks)
        return [
            "srun", "-N", str(hosts), "-w", ",".join(names[:hosts]), "-n", str(ranks), "-m", "block", f"--mpi={kind}",
            f"--ntasks-per-node={a_host(names, ranks)}",
        ]

    return words


def _hydra(names, ranks, _):
    return [f"{PEERS}/bin/mpiexec", "-hosts", ",".join(names), "-ppn", str(a_host(names, ranks)), "-n", str(ranks)]


def _prrte(names, ranks, variables):
    places = ",".join(f"{name}:{a_host(names, ranks)}" for name in names)
    prefix = f"{PEERS}/openmpi"
    words = [f"{prefix}/bin/prterun", "--prefix", prefix, "--host", places, "-n", str(ranks), "--bind-to", "none"]
    for name, value in variables.items():
        words += ["-x", f"{name}={value}"]
    return words


def _ours(names, ranks, _):
    places = ",".join(f"{name}:{a_host(names, ranks)}" for name in names)
    return [os.environ["HR_MPIEXEC"], "--hosts", places, "-n", str(ranks), "--bind-to", "none"]


LAUNCHERS = {
    "ours": _ours, "pmi2": _slurm("pmi2"), "pmix": _slurm("pmix"), "none": _slurm("none"), "hydra": _hydra, "prrte": _prrte,
}
# Launchers that start spawned programs, and launchers that store published names (MPI_Publish_name).
SPAWN = {"ours", "hydra"}
# Hydra 5.0 fails an assertion if several ranks spawn at the same time, whether the ranks use MPICH's library or this one.
SPAWN_AT_ONCE = {"ours"}
# When asked to start a missing program, Hydra and Slurm end the job, or never answer.
REFUSE = {"ours", "pmix", "prrte"}
# Slurm stores no names with PMIx, and with PMI-2 reports success for unpublishing a name that was never published.
KEEP_NAMES = {"ours", "hydra", "pmi2", "prrte"}
REFUSE_NAMES = {"ours", "hydra", "prrte"}
# Launchers that let a process rejoin the job after MPI_Finalize.
TAKE_BACK = {"ours"}
OF_PRRTE = {"PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_PREFIX": f"{PEERS}/openmpi"}


def command(launcher, names, ranks, variables=None):
    """Returns the words before a program, and the launcher's environment. `variables`: the ranks' environment."""
    variables = variables or {}
    return LAUNCHERS[launcher](names, ranks, variables), OF_PRRTE if launcher == "prrte" else variables


def missing(launcher):
    """Returns the names of the launcher's parts that are not installed here; empty if all are installed."""
    program = LAUNCHERS[launcher](["h1"], 1, {})[0]
    return "" if shutil.which(program) else f"no {program}; see `make peers` (HEADRACE_PEERS)"
