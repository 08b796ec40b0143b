// The CPUs on which this process may run, as the operating system reports them. hwloc, which places the ranks
// (machine.hpp), is not used for this: it examines every CPU of the machine, which would take too long in each process
// of a job. Threads: any.
#pragma once

#include <string>

#include "topo/cpu_set.hpp"

namespace hr::topo {

// Returns the CPUs on which this process may run; empty if they cannot be determined.
[[nodiscard]] CpuSet allowed_cpus();

// Binds the calling thread to `cpus`; false if the system refuses.
[[nodiscard]] bool use_cpus(const CpuSet& cpus);

// Reads the kernel's notation of a list ("0-3,8"), up to the first word that does not fit it.
[[nodiscard]] CpuSet cpus_listed(const std::string& text);

// False if the system refuses sched_getaffinity() (in a sandbox); allowed_cpus() then reads /proc instead.
[[nodiscard]] bool affinity_is_told() noexcept;

}  // namespace hr::topo
