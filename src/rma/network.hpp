// Windows over RDMA networks, which read and write memory of other hosts: each process exposes its part when the window
// is created, and the origins put and get contiguous host memory with the key of that part. Puts are complete at the
// target once a flush of the path has completed. All other operations, and those on dynamic windows and device memory,
// use messages. So do accumulates, because the network's atomic operations would not exclude those of the target's
// processors (exclusion.hpp). Internal to rma/. Threads: library lock.
#pragma once

#include <vector>

#include "rma/memory.hpp"

namespace hr::rma {

// True if this process would let others access its part over the network; for Facts::network.
[[nodiscard]] bool has_network(const Window& window) noexcept;
// Exchanges keys if has_network() is true in any process, and sets the path to each member that this process can reach
// with its key to Path::kNetwork. Called once this process's part is known. Collective. Errors: those of messages.
Status share_keys(Window& window, const std::vector<Facts>& facts);
// Ends access by other processes, which must no longer use the window.
void withdraw_key(Window& window) noexcept;

// Starts a flush of the path to a member that has unflushed puts. The flush counts as an operation without an answer.
void flush_network(Window& window, int rank);

}  // namespace hr::rma
