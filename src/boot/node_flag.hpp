// Node flags: marks that a process sets for the other processes of its job on the host, at any time and without their
// participation.
//
// A flag is an abstract Unix socket whose name is derived from the job's secret: it is in no file system, disappears
// with the process, however that ends, and no other user can set it first. Meant for checks, not for messages: each
// call is one system call. Owner: boot; a flag stays set until boot's finalize(). Threads: library lock.
#pragma once

#include <string_view>

namespace hr::boot {

// Sets a flag; false if another process has set it before, or the system has no such sockets.
[[nodiscard]] bool set_node_flag(std::string_view name);
// True if a process has set the flag.
[[nodiscard]] bool node_flag_is_set(std::string_view name);

}  // namespace hr::boot
