// Stacks of a process as reported by its own threads (base/stack_request.hpp), with the system's data on each thread:
// for hosts that do not permit debuggers.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace hr::launcher {

// Returns lines of text; empty if the process does not listen: it has not called MPI_Init, or it handles the signal
// itself.
std::string own_stacks(pid_t pid, std::chrono::steady_clock::time_point deadline);

// Describes the thread with this folder in /proc, or the first thread of a process: name, state, what it waits for.
std::string state_by_proc(const std::string& folder);

}  // namespace hr::launcher
