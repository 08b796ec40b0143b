// Where a process is: what a person wants to know of a rank that hangs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

namespace hr::launcher {

// Lines of text: the stacks of its threads by gdb where gdb is there and may look, else as the program tells them
// (own_stacks.hpp), with its state from /proc; of all processes of its group. Takes no longer than the limit.
std::string where_is(pid_t pid, std::chrono::milliseconds limit);

// The stack of the thread that is in a signal handler, below that handler; empty where gdb cannot tell.
std::string crash_of(pid_t pid, std::chrono::milliseconds limit);

}  // namespace hr::launcher
