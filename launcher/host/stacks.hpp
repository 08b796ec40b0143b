// Shows where a process currently is, for a person who examines a hanging rank.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace hr::launcher {

// Returns lines of text about the process `pid` and, if it leads a process group, the others in the group; at most four
// processes in all. The text contains the stacks of their threads, from gdb if it is installed and permitted, else from
// the program itself (own_stacks.hpp), with the states from /proc. Takes no longer than the limit.
std::string where_is(pid_t pid, std::chrono::milliseconds limit);

// Returns the stack of the thread that is in a signal handler, below that handler; empty if gdb cannot find it.
std::string crash_of(pid_t pid, std::chrono::milliseconds limit);

}  // namespace hr::launcher
