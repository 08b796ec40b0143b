"""Variables of other MPI libraries, and their counterparts in Headrace, as data; `python -m headrace.counterparts` prints them as
the table in docs/coming-from.md."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass

# Read by Headrace's wrappers and Headrace's mpiexec, as well as by those of the other library.
READ = ("OMPI_CC", "OMPI_CXX", "OMPI_FC", "OMPI_F77", "OMPI_CPPFLAGS", "OMPI_CFLAGS", "OMPI_CXXFLAGS", "OMPI_FCFLAGS", "OMPI_LDFLAGS",
        "MPICH_CC", "MPICH_CXX", "MPICH_FC", "MPICH_F90", "MPICH_F77", "I_MPI_CC", "I_MPI_CXX", "I_MPI_FC", "I_MPI_F90", "I_MPI_F77",
        "I_MPI_CFLAGS", "I_MPI_CXXFLAGS", "I_MPI_FCFLAGS", "I_MPI_LDFLAGS", "MPIEXEC_TIMEOUT")
# Variables that describe a library, its location, or a rank's place; they are not set to change how a program runs.
HARMLESS = ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE",
            "I_MPI_ROOT", "MPICH_DIR", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "PRTE_ALLOW_RUN_AS_ROOT",
            "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "MPICH_VERSION", "I_MPI_HYDRA_ENV", "OMPI_MCA_orte_base_help_aggregate")
OWNERS = {"OMPI_MCA_": "Open MPI", "PRTE_MCA_": "Open MPI", "PMIX_MCA_": "Open MPI", "MPIR_CVAR_": "MPICH", "MPICH_": "MPICH",
          "HYDRA_": "MPICH", "I_MPI_": "Intel MPI", "MV2_": "MVAPICH", "MVP_": "MVAPICH", "FI_": "libfabric"}


@dataclass(frozen=True)
class Counterpart:
    names: str  # shell patterns, separated by blanks
    instead: str


# The first matching entry counts.
TABLE = (
    # Open MPI
    Counterpart("OMPI_MCA_btl_vader_single_copy_mechanism OMPI_MCA_btl_sm_single_copy_mechanism OMPI_MCA_smsc",
                "HEADRACE_SHM_SINGLE_COPY"),
    Counterpart("OMPI_MCA_btl_*_backing_directory OMPI_MCA_orte_tmpdir_base PRTE_MCA_prte_tmpdir_base", "HEADRACE_SHM_DIR"),
    Counterpart("OMPI_MCA_btl_smcuda_use_cuda_ipc", "HEADRACE_DEVICE_IPC"),
    Counterpart("OMPI_MCA_btl_*_eager_limit OMPI_MCA_btl_*_rndv_eager_limit", "HEADRACE_EAGER_BYTES, HEADRACE_NETWORK_EAGER_BYTES"),
    Counterpart("OMPI_MCA_btl_tcp_if_* OMPI_MCA_oob_tcp_if_* OMPI_MCA_btl_openib_if_* PMIX_MCA_ptl_tcp_if_*",
                "HEADRACE_NETWORK_DEVICES names the networks to use"),
    Counterpart("OMPI_MCA_btl OMPI_MCA_pml OMPI_MCA_mtl", "HEADRACE_NETWORK, HEADRACE_TRANSPORTS; the choice is made without them"),
    Counterpart("OMPI_MCA_coll_tuned_dynamic_rules_filename", "headrace tune, HEADRACE_TUNING_FILE"),
    Counterpart("OMPI_MCA_coll_tuned_* OMPI_MCA_coll", "HEADRACE_COLL_FORCE"),
    Counterpart("OMPI_MCA_mpi_yield_when_idle", "HEADRACE_SPIN_ROUNDS; waiting ranks that share cores yield anyway"),
    Counterpart("OMPI_MCA_mpi_param_check", "HEADRACE_CHECK"),
    Counterpart("OMPI_MCA_opal_cuda_support OMPI_MCA_accelerator", "HEADRACE_CUDA; GPU buffers work without it"),
    Counterpart("OMPI_MCA_rmaps_base_oversubscribe", "HEADRACE_OVERSUBSCRIBE"),
    Counterpart("OMPI_MCA_rmaps_* PRTE_MCA_rmaps_*", "mpiexec --map-by"),
    Counterpart("OMPI_MCA_hwloc_base_* PRTE_MCA_hwloc_default_*", "mpiexec --bind-to"),
    Counterpart("OMPI_MCA_plm_rsh_agent PRTE_MCA_plm_ssh_agent OMPI_MCA_plm PRTE_MCA_plm", "HEADRACE_LAUNCHER"),
    Counterpart("OMPI_MCA_*_verbose PRTE_MCA_*_verbose OMPI_MCA_mpi_show_mca_params", "HEADRACE_VERBOSE, headrace config"),
    # MPICH, and Cray MPICH, whose variables begin with MPICH_
    Counterpart("MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE MPIR_CVAR_*_JSON_FILE", "headrace tune, HEADRACE_TUNING_FILE"),
    Counterpart("MPIR_CVAR_*_ALGORITHM MPICH_*_ALGORITHM MPICH_COLL_*", "HEADRACE_COLL_FORCE"),
    Counterpart("MPIR_CVAR_*EAGER* MPICH_*EAGER*", "HEADRACE_EAGER_BYTES, HEADRACE_NETWORK_EAGER_BYTES"),
    Counterpart("MPIR_CVAR_ASYNC_PROGRESS MPICH_ASYNC_PROGRESS", "HEADRACE_PROGRESS_THREAD"),
    Counterpart("MPIR_CVAR_ENABLE_GPU MPICH_GPU_SUPPORT_ENABLED MPICH_GPU_*", "HEADRACE_CUDA; GPU buffers work without it"),
    Counterpart("MPIR_CVAR_NOLOCAL MPIR_CVAR_ODD_EVEN_CLIQUES MPIR_CVAR_NUM_CLIQUES", "HEADRACE_AS_HOSTS"),
    Counterpart("MPIR_CVAR_ERROR_CHECKING", "HEADRACE_CHECK"),
    Counterpart("MPIR_CVAR_CH4_*IPC*CUDA* MPIR_CVAR_CH4_IPC_GPU_*", "HEADRACE_DEVICE_IPC"),
    Counterpart("MPICH_SMP_SINGLE_COPY_* MPIR_CVAR_CH4_CMA_*", "HEADRACE_SHM_SINGLE_COPY, HEADRACE_SINGLE_COPY_BYTES"),
    Counterpart("MPICH_RANK_REORDER_*", "mpiexec --rank-by"),
    Counterpart("MPICH_OFI_NUM_NICS", "HEADRACE_NETWORK_RAILS"),
    Counterpart("MPIR_CVAR_CH4_NETMOD", "HEADRACE_NETWORK; the choice is made without it"),
    Counterpart("MPIR_CVAR_OFI_USE_PROVIDER", "HEADRACE_OFI_PROVIDER"),
    Counterpart("MPICH_OFI_NIC_* MPIR_CVAR_OFI_* MPICH_OFI_IFNAME", "HEADRACE_NETWORK_DEVICES"),
    Counterpart("MPICH_VERSION_DISPLAY MPICH_ENV_DISPLAY MPIR_CVAR_DEBUG_SUMMARY MPIR_CVAR_*DEBUG*", "HEADRACE_VERBOSE, headrace config"),
    Counterpart("HYDRA_HOST_FILE", "mpiexec --hostfile"),
    Counterpart("HYDRA_LAUNCHER HYDRA_LAUNCHER_EXEC HYDRA_BOOTSTRAP", "HEADRACE_LAUNCHER"),
    Counterpart("HYDRA_BINDING HYDRA_TOPO_DEBUG", "mpiexec --bind-to, --report-bindings"),
    Counterpart("HYDRA_IFACE", "HEADRACE_NETWORK_DEVICES"),
    # Intel MPI
    Counterpart("I_MPI_DEBUG I_MPI_PRINT_VERSION I_MPI_HYDRA_DEBUG", "HEADRACE_VERBOSE"),
    Counterpart("I_MPI_FABRICS I_MPI_DEVICE", "HEADRACE_NETWORK, HEADRACE_TRANSPORTS; the choice is made without them"),
    Counterpart("I_MPI_OFI_PROVIDER", "HEADRACE_OFI_PROVIDER"),
    Counterpart("I_MPI_PIN*", "mpiexec --bind-to, --map-by"),
    Counterpart("I_MPI_PERHOST", "mpiexec -ppn"),
    Counterpart("I_MPI_ADJUST_*", "HEADRACE_COLL_FORCE"),
    Counterpart("I_MPI_TUNING*", "headrace tune, HEADRACE_TUNING_FILE"),
    Counterpart("I_MPI_ASYNC_PROGRESS*", "HEADRACE_PROGRESS_THREAD"),
    Counterpart("I_MPI_HYDRA_BOOTSTRAP*", "HEADRACE_LAUNCHER"),
    Counterpart("I_MPI_HYDRA_HOST_FILE", "mpiexec --hostfile"),
    Counterpart("I_MPI_HYDRA_IFACE", "HEADRACE_NETWORK_DEVICES"),
    Counterpart("I_MPI_JOB_TIMEOUT* I_MPI_MPIEXEC_TIMEOUT", "MPIEXEC_TIMEOUT"),
    Counterpart("I_MPI_*EAGER_THRESHOLD", "HEADRACE_EAGER_BYTES, HEADRACE_NETWORK_EAGER_BYTES"),
    Counterpart("I_MPI_OFFLOAD*", "HEADRACE_CUDA; GPU buffers work without it"),
    Counterpart("I_MPI_SPIN_COUNT I_MPI_THREAD_YIELD I_MPI_WAIT_MODE", "HEADRACE_SPIN_ROUNDS"),
    Counterpart("I_MPI_STATS*", "headrace top, mpiexec --save-counters"),
    Counterpart("I_MPI_MULTIRAIL", "HEADRACE_NETWORK_RAILS"),
    Counterpart("I_MPI_FAULT_CONTINUE", "mpiexec --enable-recovery"),
    # MVAPICH
    Counterpart("MV2_USE_CUDA MVP_USE_CUDA", "HEADRACE_CUDA; GPU buffers work without it"),
    Counterpart("MV2_CUDA_IPC MV2_USE_CUDA_IPC", "HEADRACE_DEVICE_IPC"),
    Counterpart("MV2_CUDA_BLOCK_SIZE", "HEADRACE_DEVICE_PIPELINE_CHUNK_BYTES"),
    Counterpart("MV2_USE_GPUDIRECT* MV2_GPUDIRECT_*", "HEADRACE_DEVICE_NETWORK_DIRECT"),
    Counterpart("MV2_ENABLE_AFFINITY MV2_CPU_* MVP_ENABLE_AFFINITY MVP_CPU_* MV2_THREADS_PER_PROCESS MV2_HYBRID_*",
                "mpiexec --bind-to, --map-by bunch, scatter or hybrid"),
    Counterpart("MV2_SHOW_CPU_BINDING", "mpiexec --report-bindings"),
    Counterpart("MV2_IBA_EAGER_THRESHOLD MV2_VBUF_TOTAL_SIZE", "HEADRACE_NETWORK_EAGER_BYTES"),
    Counterpart("MV2_SMP_EAGERSIZE", "HEADRACE_EAGER_BYTES"),
    Counterpart("MV2_SMP_USE_CMA MV2_SMP_USE_LIMIC2", "HEADRACE_SHM_SINGLE_COPY"),
    Counterpart("MV2_IBA_HCA MV2_DEFAULT_*", "HEADRACE_NETWORK_DEVICES"),
    Counterpart("MV2_NUM_HCAS MV2_NUM_RAILS MV2_NUM_PORTS", "HEADRACE_NETWORK_RAILS"),
    Counterpart("MV2_*_ALGORITHM MV2_*_TUNING MV2_INTER_* MV2_INTRA_*", "HEADRACE_COLL_FORCE"),
    Counterpart("MV2_ASYNC_PROGRESS MV2_OPTIMIZED_ASYNC_PROGRESS", "HEADRACE_PROGRESS_THREAD"),
    Counterpart("MV2_SHOW_ENV_INFO MV2_DEBUG_*", "HEADRACE_VERBOSE, headrace config"),
    Counterpart("MV2_USE_BLOCKING MV2_SPIN_COUNT", "HEADRACE_SPIN_ROUNDS"),
    # libfabric, below MPICH and Intel MPI: it reads these itself when Headrace uses it
    Counterpart("FI_PROVIDER", "HEADRACE_OFI_PROVIDER; libfabric reads it in jobs with HEADRACE_NETWORK=ofi"),
    Counterpart("FI_*_IFACE", "HEADRACE_NETWORK_DEVICES; libfabric reads it in jobs with HEADRACE_NETWORK=ofi"),
)


def owner_of(name: str) -> str | None:
    """Returns the library that the variable belongs to, if Headrace does not read the variable and its value may matter."""
    if name in READ or name in HARMLESS:
        return None
    return next((owner for prefix, owner in OWNERS.items() if name.startswith(prefix)), None)


def counterpart(name: str) -> str | None:
    """Returns the counterpart in Headrace."""
    return next((each.instead for each in TABLE if any(fnmatch.fnmatchcase(name, pattern) for pattern in each.names.split())), None)


def markdown() -> str:
    lines = ["| theirs | here |", "|---|---|"]
    for each in TABLE:
        names = ", ".join(f"`{name}`" for name in each.names.split())
        words = [f"`{word}`" if word.startswith("HEADRACE_") or word == "MPIEXEC_TIMEOUT" else word
                 for word in each.instead.replace(",", " ,").replace(";", " ;").split()]
        lines.append(f"| {names} | {' '.join(words).replace(' ,', ',').replace(' ;', ';')} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
