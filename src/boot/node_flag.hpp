// NodeFlag: a mark that a process puts up for the others of its job on the node, at any time, without their help.
//
// A flag is an abstract Unix socket with a name of the job's: it has no place in any file system and goes down with the
// process, however that ends. For checks, not for messages: one system call each.
// Owner: process-wide; a flag stays up until the process ends. Threads: library lock.
#pragma once

#include <string_view>

namespace hr::boot {

// False when another process has put it up before, or where there are no such sockets.
[[nodiscard]] bool raise_flag(std::string_view name);
// Whether a process has put it up.
[[nodiscard]] bool flag_is_up(std::string_view name);

}  // namespace hr::boot
