// Determines which processes share memory with this one, and reads memory of other processes, for layers that ensure
// that it does not change meanwhile. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace hr::p2p {

// True if both processes can map the same memory; false if they communicate through a network, even on one machine.
[[nodiscard]] bool shares_memory(int proc) noexcept;

// Copies from host memory of another process. MPI_ERR_UNSUPPORTED_OPERATION, with nothing copied: no transport can read
// it, the system refuses, or the knob shm_single_copy is off.
Status read_peer_memory(int proc, std::uint64_t remote_address, void* local, std::size_t bytes);

}  // namespace hr::p2p
