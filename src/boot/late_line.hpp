// Finds the connection to the launcher for a program that should have inherited it (PMI_FD) but did not: a wrapper has
// closed it, as Python's subprocess does, or its descriptor now refers to something else.
//
// Headrace's mpiexec sets an environment variable in each rank. The variable describes this connection, and contains a
// secret and the abstract socket address at which mpiexec listens. A program that sends the secret gets a new
// connection.
// Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hr::boot {

struct LateLine {
  static constexpr const char* kVariable = "PMI_HEADRACE";

  std::uint64_t inode = 0;  // inode of the socket whose descriptor is PMI_FD
  int launcher = 0;         // process id of the launcher
  std::uint64_t space = 0;  // number of the pid namespace that this process id belongs to
  std::string name;         // abstract address at which the launcher listens
  std::string secret;

  [[nodiscard]] std::string text() const;
  // Parses the result of text(); false if `text` is not one.
  static bool read(std::string_view text, LateLine* line);
};

// Returns the inode number that distinguishes a socket from all others of this machine; 0: not a socket.
[[nodiscard]] std::uint64_t inode_of(int socket) noexcept;

// Returns the number of this process's pid namespace; 0: unknown.
[[nodiscard]] std::uint64_t space_of_processes() noexcept;

enum class Late {
  kNone,    // no connection: the launcher has ended, or a rank that is itself an MPI program started this process
  kJoined,  // *socket
  kFailed,  // the launcher refuses, or exists but cannot be reached; the recorded detail contains the reason
};
Late join_late(const LateLine& line, int rank, int* socket);

}  // namespace hr::boot
