"""The checks of `headrace doctor`, one per file. To add one, write its file, and add a line here."""

from headrace.doctor.check import Check
from headrace.doctor.checks import (amd, cgroup, clock, cpus, distance, files, gpus, launchers, limits, listening, network,
                                    numa, ofi, other_mpi, reading, settings, shm, ucx)

CHECKS = (
    Check("shm", "Memory", "/dev/shm: there, large enough, not full of files of dead jobs", shm.look),
    Check("cgroup", "Memory", "memory and CPU limits of the cgroup (container, batch job)", cgroup.look),
    Check("numa", "Memory", "NUMA nodes, automatic NUMA balancing, transparent huge pages", numa.look),
    Check("limits", "Limits", "locked memory, open files, address space, stack, size of files", limits.look),
    Check("single-copy", "Limits", "one process reads another's memory (tried)", reading.look),
    Check("cpus", "Processors", "CPUs that may be used, SMT, frequency governor", cpus.look),
    Check("clock", "Processors", "clock source, virtual machine, container", clock.look),
    Check("distance", "Processors", "NUMA nodes of GPUs and RDMA devices, beside those of the CPUs that may be used", distance.look),
    Check("mpi", "Software", "mpicc, mpiexec and libmpi of somebody else; variables of another MPI", other_mpi.look),
    Check("files", "Software", "this installation's files: all there, as installed, none of another package's", files.look),
    Check("settings", "Software", "HEADRACE_ variables that are no setting, or have no possible value", settings.look),
    Check("launch", "Network", "what starts ranks here and elsewhere: Slurm, PBS, PMIx, ssh", launchers.look),
    Check("network", "Network", "which transport carries messages to other hosts, and why; its interface over TCP", network.look),
    Check("ucx", "Network", "UCX: version, transports, devices, variables that narrow them", ucx.look),
    Check("ofi", "Network", "libfabric: version", ofi.look),
    Check("listening", "Network", "who can reach ranks over TCP: where ranks would listen, and where ranks that run listen", listening.look),
    Check("gpu", "GPUs", "NVIDIA driver, devices, peer access, IPC, MPS, MIG, ECC, persistence", gpus.look),
    Check("amd", "GPUs", "AMD GPUs: HIP runtime, access, devices, variables that hide them", amd.look),
)
