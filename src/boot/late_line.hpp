// Finds the connection to the launcher for a program that should have inherited it (PMI_FD) but did not: a wrapper has
// closed it, as Python's subprocess does, or its descriptor is now that of something else.
//
// In an environment variable our mpiexec tells each rank how to recognise that connection, the abstract socket address
// that mpiexec listens at, and a secret. A program that shows the secret gets a connection of its own. Threads:
// any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hr::boot {

struct LateLine {
  static constexpr const char* kVariable = "PMI_HEADRACE";

  std::uint64_t inode = 0;  // of the socket whose number is PMI_FD
  int launcher = 0;         // its process id
  std::string name;         // the abstract address that it listens at
  std::string secret;

  [[nodiscard]] std::string text() const;
  // Returns false if the text is not one of ours.
  static bool read(std::string_view text, LateLine* line);
};

// Returns the number that tells a socket from any other of this machine; 0: not a socket.
[[nodiscard]] std::uint64_t inode_of(int socket) noexcept;

enum class Late {
  kNone,    // no line: the launcher has ended, or this process was started by a rank that is an MPI program itself
  kJoined,  // *socket
  kFailed,  // the launcher is there and refuses, or cannot be reached: the recorded detail says why
};
Late join_late(const LateLine& line, int rank, int* socket);

}  // namespace hr::boot
