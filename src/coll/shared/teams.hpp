// Teams: the processes of a communicator that share a cache, and those whose cores share memory
// (topo/neighbourhood.hpp), and the tree over them by which a broadcast crosses each slow link once: the root hands to
// one process in each other memory, that one to one in each other cache there, and that one to its neighbours.
//
// Owner: the Area. Threads: immutable.
#pragma once

#include <span>
#include <vector>

#include "topo/neighbourhood.hpp"

namespace hr::coll::shared {

class Teams {
 public:
  // Of one process, or nobody knows.
  Teams() = default;
  // One a rank. What two processes do not know of themselves, they are taken to share.
  explicit Teams(std::span<const topo::Neighbourhood> members);

  // Of processes that share a cache; at least 1.
  [[nodiscard]] int count() const noexcept { return count_; }
  // From whom a process gets what the root gives; not asked of the root.
  [[nodiscard]] int parent(int rank, int root) const noexcept;
  // Others get it from this process.
  [[nodiscard]] bool relays(int rank, int root) const noexcept;

 private:
  struct Heads {
    int memory;  // lowest rank of those with the same memory
    int cache;   // and of those with the same cache there
  };
  [[nodiscard]] const Heads& of(int rank) const noexcept { return heads_[static_cast<std::size_t>(rank)]; }

  int count_ = 1;
  std::vector<Heads> heads_;
};

}  // namespace hr::coll::shared
