// RankMap: the host of each rank, and numbers derived from it. A plain value, the same on every host of a job.
//
// Here, a host is what programs see as one: with --as-hosts, one machine is several hosts.
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
  // Return a rank's index among the ranks on its host, and the number of ranks on a host.
  [[nodiscard]] int place_of(int rank) const noexcept { return place_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int count_at(int host) const noexcept {
    return host < hosts() ? count_[static_cast<std::size_t>(host)] : 0;
  }
  [[nodiscard]] std::vector<int> ranks_of(int host) const;

  // Returns the value of PMI_process_mapping.
  [[nodiscard]] std::string mapping() const;

  // Divides the ranks into one block for each host; the sizes of the blocks differ by at most one. `hosts` must not
  // exceed `ranks`.
  static RankMap in_blocks(int ranks, int hosts);

 private:
  std::vector<int> host_of_;
  std::vector<int> place_;
  std::vector<int> count_;
};

}  // namespace hr::launcher
