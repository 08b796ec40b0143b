// Small exchanges among processes that do not share a finished communicator yet; comm/ is below coll/, so it cannot use
// collectives. Messages are between a few bytes and a few kilobytes per process. Exchanges among all members take
// O(log n) rounds.
//
// All members call the same exchanges in the same order with the same context and tag. Messages carry process numbers
// as sources (boot::Processes::number_of()), so exchanges of different sets of processes with the same tag cannot be
// mixed up if processes in several of the sets call them in the same order. Memory: everything pointed to must outlive
// the task. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/proc_list.hpp"
#include "p2p/task.hpp"

namespace hr::comm {

struct Members {
  ProcList procs;  // in the same order on all members
  int size;
  int me;  // index of this process
  std::uint32_t context;
  int tag;
};

// Sets words[i] to the bitwise AND over all members.
p2p::Task and_reduce(Members members, std::uint64_t* words, int count);

// Copies `bytes` bytes from the root's buffer to all others.
p2p::Task broadcast(Members members, int root, void* data, std::size_t bytes);

// Gathers size * bytes: every member's block in the order of members.procs. `own` must not be in `gathered`.
p2p::Task allgather(Members members, const void* own, std::size_t bytes, std::byte* gathered);

// allgather() for blocks of different lengths. gathered[i]: receives member i's block.
p2p::Task allgather_blobs(Members members, const std::vector<std::byte>* own,
                          std::vector<std::vector<std::byte>>* gathered);

// Exchanges `bytes` bytes between two processes.
p2p::Task exchange(int own_proc, int other_proc, std::uint32_t context, int tag, const void* own, void* other,
                   std::size_t bytes);

// exchange() for data whose length the other process does not know.
p2p::Task exchange_blobs(int own_proc, int other_proc, std::uint32_t context, int tag,
                         const std::vector<std::byte>* own, std::vector<std::byte>* other);

// Returns a tag computed from the processes; it is the same for the same processes in the same order.
[[nodiscard]] int hash_tag(const ProcList& procs) noexcept;
// Returns a non-negative tag computed from any bytes.
[[nodiscard]] int hash_tag(const void* data, std::size_t bytes, std::uint64_t seed = 0) noexcept;

}  // namespace hr::comm
