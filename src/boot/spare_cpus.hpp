// The variable by which mpiexec tells a rank that it has bound by itself, on a host with more cores than ranks, which
// CPUs it may use: "2/0-63", the rank's own ones and those of all ranks.
#pragma once

namespace hr::boot {

inline constexpr const char* kSpareCpus = "PMI_HEADRACE_CPUS";

}  // namespace hr::boot
