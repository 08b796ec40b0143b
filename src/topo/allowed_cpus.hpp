// The CPUs that this process may run on, from the operating system itself: hwloc, which places the ranks (machine.hpp),
// looks at every CPU of the machine, which is too much for each process of a job to do. Threads: any.
#pragma once

#include "topo/cpu_set.hpp"

namespace hr::topo {

// Returns an empty set if they cannot be determined.
[[nodiscard]] CpuSet allowed_cpus();

// False if the system refuses to answer (a sandbox), and allowed_cpus() reads it from /proc.
[[nodiscard]] bool affinity_is_told() noexcept;

}  // namespace hr::topo
