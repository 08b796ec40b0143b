// The CPUs that this process may run on, as the operating system reports them: hwloc, which places the ranks
// (machine.hpp), examines every CPU of the machine, which would take too long in each process of a job. Threads: any.
#pragma once

#include "topo/cpu_set.hpp"

namespace hr::topo {

// Returns these CPUs; empty if they cannot be determined.
[[nodiscard]] CpuSet allowed_cpus();

// False if the system call is refused (in a sandbox), so that allowed_cpus() reads /proc instead.
[[nodiscard]] bool affinity_is_told() noexcept;

}  // namespace hr::topo
