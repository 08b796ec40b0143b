// The current position of a process, for a person who looks at a hanging rank.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace hr::launcher {

// Returns lines of text: the stacks of its threads by gdb if gdb is there and may look, else as reported by the program
// (own_stacks.hpp), with its state from /proc; of all processes of its group. Takes no longer than the limit.
std::string where_is(pid_t pid, std::chrono::milliseconds limit);

// Returns the stack of the thread that is in a signal handler, below that handler; empty if gdb cannot tell.
std::string crash_of(pid_t pid, std::chrono::milliseconds limit);

}  // namespace hr::launcher
