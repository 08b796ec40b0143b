#include "plan/rank_map.hpp"

#include <algorithm>

#include "boot/process_mapping.hpp"

namespace hr::launcher {

RankMap::RankMap(std::vector<int> host_of) : host_of_(std::move(host_of)) {
  place_.reserve(host_of_.size());
  for (const int host : host_of_) {
    const auto at = static_cast<std::size_t>(host);
    if (at >= count_.size()) count_.resize(at + 1);
    place_.push_back(count_[at]++);
  }
}

std::vector<int> RankMap::ranks_of(int host) const {
  std::vector<int> ranks;
  for (int rank = 0; rank < this->ranks(); ++rank) {
    if (host_of(rank) == host) ranks.push_back(rank);
  }
  return ranks;
}

std::string RankMap::mapping() const {
  if (host_of_.empty()) return "(vector)";
  return boot::format_process_mapping(host_of_);
}

RankMap RankMap::in_blocks(int ranks, int hosts) {
  hosts = std::clamp(hosts, 1, std::max(ranks, 1));
  std::vector<int> host_of;
  for (int host = 0; host < hosts; ++host) {
    const int count = ranks / hosts + (host < ranks % hosts ? 1 : 0);
    host_of.insert(host_of.end(), static_cast<std::size_t>(count), host);
  }
  return RankMap(std::move(host_of));
}

}  // namespace hr::launcher
