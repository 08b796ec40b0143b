// Node flags: marks that a process sets for the others of its job on the host, at any time, without their help.
//
// A flag is an abstract Unix socket with a name that follows from the job's secret: it is in no file system, ends with
// the process, in whatever way that ends, and no other user can set it before. For checks, not for messages: one system
// call each. Owner: boot; a flag stays set until boot's finalize(). Threads: library lock.
#pragma once

#include <string_view>

namespace hr::boot {

// Returns false if another process has set it before, or there are no such sockets.
[[nodiscard]] bool set_node_flag(std::string_view name);
// True if a process has set it.
[[nodiscard]] bool node_flag_is_set(std::string_view name);

}  // namespace hr::boot
