// RankMap: the host of each rank, and numbers derived from it. A plain value, the same on every host of a job.
//
// A host here is one as programs see it: with --as-hosts one machine is several.
#pragma once

#include <string>
#include <vector>

namespace hr::launcher {

class RankMap {
 public:
  RankMap() = default;
  // One entry for each rank.
  explicit RankMap(std::vector<int> host_of);

  [[nodiscard]] int ranks() const noexcept { return static_cast<int>(host_of_.size()); }
  [[nodiscard]] int hosts() const noexcept { return static_cast<int>(count_.size()); }
  [[nodiscard]] int host_of(int rank) const noexcept { return host_of_[static_cast<std::size_t>(rank)]; }
  // Returns the rank's index among those of its host, and their number.
  [[nodiscard]] int place_of(int rank) const noexcept { return place_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int count_at(int host) const noexcept {
    return host < hosts() ? count_[static_cast<std::size_t>(host)] : 0;
  }
  [[nodiscard]] std::vector<int> ranks_of(int host) const;

  // Returns the value of PMI_process_mapping.
  [[nodiscard]] std::string mapping() const;

  // Makes blocks whose sizes differ by one at most; no more hosts than ranks.
  static RankMap in_blocks(int ranks, int hosts);

 private:
  std::vector<int> host_of_;
  std::vector<int> place_;
  std::vector<int> count_;
};

}  // namespace hr::launcher
