#include "coll/shared/teams.hpp"

#include <algorithm>

namespace hr::coll::shared {

Teams::Teams(std::span<const topo::Neighbourhood> members) {
  const auto first = [&](auto alike) {
    return static_cast<int>(std::find_if(members.begin(), members.end(), alike) - members.begin());
  };
  for (const topo::Neighbourhood& member : members) {
    heads_.push_back({first([&](const topo::Neighbourhood& other) { return other.memory == member.memory; }),
                      first([&](const topo::Neighbourhood& other) { return other == member; })});
  }
  count_ = 0;
  for (int rank = 0; rank < static_cast<int>(heads_.size()); ++rank) count_ += of(rank).cache == rank ? 1 : 0;
}

int Teams::parent(int rank, int root) const noexcept {
  // The root stands for every team that it is in.
  const int cache = of(rank).cache == of(root).cache ? root : of(rank).cache;
  if (rank != cache) return cache;
  const int memory = of(rank).memory == of(root).memory ? root : of(rank).memory;
  return rank != memory ? memory : root;
}

bool Teams::relays(int rank, int root) const noexcept {
  if (rank == root) return true;
  for (int other = 0; other < static_cast<int>(heads_.size()); ++other) {
    if (other != rank && other != root && parent(other, root) == rank) return true;
  }
  return false;
}

}  // namespace hr::coll::shared
