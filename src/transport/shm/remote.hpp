// Copies between the memory of this process and of another one of the node, by a system call.
// Threads: any.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace hr::transport::shm {

struct Process {
  int rank;  // for error texts
  pid_t pid;
};

// MPI_ERR_UNSUPPORTED_OPERATION where the system does not let us, or there is no such memory; some may have been
// copied.
Status read_process(const Process& from, std::uint64_t address, void* to, std::size_t bytes);
Status write_process(const Process& to, std::uint64_t address, const void* from, std::size_t bytes);

}  // namespace hr::transport::shm
