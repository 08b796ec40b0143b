// The stacks of a process as its own threads tell them (base/stack_request.hpp), and what the system says of those that
// do not: where no debugger may look.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace hr::launcher {

// Lines of text; empty where the process does not listen: it has not begun MPI, or handles the signal itself.
std::string own_stacks(pid_t pid, std::chrono::steady_clock::time_point deadline);

// What it is, what state it is in, what it waits for; of one thread, or of the process by its first.
std::string state_by_proc(const std::string& folder);

}  // namespace hr::launcher
