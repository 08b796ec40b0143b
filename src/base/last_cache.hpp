// The last-level cache that a process is bound to: the one that all cores on which it may run share.
//
// Owner: plain values. Threads: any. Reads a few small files of /sys.
#pragma once

#include <sys/types.h>

#include <string>

namespace hr {

// Returns the CPUs of that cache, as the system lists them ("0-7,64-71"): equal for processes that share it. Empty if
// the process may use several, does not exist, or the system does not report it. `process`: 0 for this process.
[[nodiscard]] std::string last_cache_of(pid_t process);

// Returns the last-level cache of one CPU, from a directory that is used like /sys/devices/system/cpu.
[[nodiscard]] std::string last_cache_of_cpu(unsigned cpu, const std::string& directory);

}  // namespace hr
