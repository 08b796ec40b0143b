// The environment variable in which mpiexec passes a rank the CPUs that it may use: "2/0-63": the rank's own CPUs, and
// those of all ranks. Set if mpiexec binds the ranks without being asked to, on a host with more cores than ranks.
#pragma once

namespace hr::boot {

inline constexpr const char* kSpareCpus = "PMI_HEADRACE_CPUS";

}  // namespace hr::boot
