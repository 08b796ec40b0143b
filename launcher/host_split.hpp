// HostSplit: which of several hosts each rank is declared to be on (--as-hosts), in blocks whose sizes differ by one at
// most. A plain value.
#pragma once

#include <algorithm>
#include <string>

namespace hr::launcher {

class HostSplit {
 public:
  // No more hosts than ranks.
  HostSplit(int ranks, int hosts) noexcept : ranks_(ranks), hosts_(std::clamp(hosts, 1, std::max(ranks, 1))) {}

  [[nodiscard]] int hosts() const noexcept { return hosts_; }
  [[nodiscard]] int first_rank(int host) const noexcept { return host * least() + std::min(host, larger()); }
  [[nodiscard]] int ranks_of(int host) const noexcept { return least() + (host < larger() ? 1 : 0); }
  [[nodiscard]] int host_of(int rank) const noexcept {
    const int in_larger = larger() * (least() + 1);
    return rank < in_larger ? rank / (least() + 1) : larger() + (rank - in_larger) / least();
  }

  // The value of PMI_process_mapping.
  [[nodiscard]] std::string mapping() const {
    std::string text = "(vector";
    append(text, 0, larger(), least() + 1);
    append(text, larger(), hosts_ - larger(), least());
    return text + ")";
  }

 private:
  [[nodiscard]] int least() const noexcept { return ranks_ / hosts_; }
  [[nodiscard]] int larger() const noexcept { return ranks_ % hosts_; }  // hosts with one rank more
  static void append(std::string& text, int first, int hosts, int ranks) {
    if (hosts == 0) return;
    text += ",(" + std::to_string(first) + "," + std::to_string(hosts) + "," + std::to_string(ranks) + ")";
  }

  int ranks_;
  int hosts_;
};

}  // namespace hr::launcher
