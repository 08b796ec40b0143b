// The environment variable in which mpiexec tells a rank which CPUs it may use. Example: "2/0-63". The rank's own CPUs
// are before the slash, the CPUs of all ranks after it. Set if mpiexec binds the ranks without being asked to, on a
// host with more cores than ranks.
#pragma once

namespace hr::boot {

inline constexpr const char* kSpareCpus = "PMI_HEADRACE_CPUS";

}  // namespace hr::boot
