// Copies between the memory of this process and that of another process on the node. One system call copies up to
// kPartsTogether parts, which saves the time of a call for each part except the first.
// Threads: any.
#pragma once

#include <sys/types.h>

#include <span>

#include "base/status.hpp"
#include "transport/transport.hpp"

namespace hr::transport::shm {

inline constexpr std::size_t kPartsTogether = 16;

struct Process {
  int rank;  // rank, for error messages
  pid_t pid;
};

// Errors: MPI_ERR_UNSUPPORTED_OPERATION if the system does not permit the copy or there is no such memory; some of the
// data may then have been copied.
Status read_process(const Process& from, std::span<const RemotePart> parts);
Status write_process(const Process& to, std::span<const RemotePart> parts);

}  // namespace hr::transport::shm
