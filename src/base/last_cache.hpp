// The last-level cache that a process is bound to: the one shared by all cores on which it may run.
//
// Owner: plain values. Threads: any. Reads a few small files of /sys.
#pragma once

#include <sys/types.h>

#include <string>

namespace hr {

// Returns the CPUs of that cache, in the system's notation ("0-7,64-71"): the same for all processes that share it.
// Empty if the process may use several such caches or does not exist, or if the system does not report the cache.
// `process`: 0 for this process.
[[nodiscard]] std::string last_cache_of(pid_t process);

// Returns the last-level cache of one CPU. The directory has the structure of /sys/devices/system/cpu.
[[nodiscard]] std::string last_cache_of_cpu(unsigned cpu, const std::string& directory);

}  // namespace hr
