#include "transport/ofi/nearest.hpp"

#include <algorithm>
#include <fstream>

#include "topo/allowed_cpus.hpp"

namespace hr::transport::ofi {
namespace {

// True if one of these CPUs is among those that the system lists as near the card.
bool is_near(const std::string& card, const topo::CpuSet& cpus, const std::string& directory) {
  std::string line;
  std::getline(std::ifstream(directory + "/" + card + "/local_cpulist"), line);
  return !topo::common(topo::cpus_listed(line), cpus).empty();
}

}  // namespace

std::vector<std::size_t> nearest_first(std::span<const std::string> cards, const topo::CpuSet& cpus, std::size_t turn,
                                       const std::string& directory) {
  std::vector<std::string> order;
  for (const std::string& each : cards) {
    if (std::ranges::find(order, each) == order.end()) order.push_back(each);
  }
  const auto far =
      std::ranges::stable_partition(order, [&](const std::string& card) { return is_near(card, cpus, directory); });
  const std::span<std::string> near(order.begin(), far.begin());
  for (const std::span<std::string> group : {near, std::span<std::string>(far)}) {
    if (!group.empty()) std::ranges::rotate(group, group.begin() + static_cast<std::ptrdiff_t>(turn % group.size()));
  }
  std::vector<std::size_t> indices;
  for (const std::string& card : order) {
    for (std::size_t i = 0; i < cards.size(); ++i) {
      if (cards[i] == card) indices.push_back(i);
    }
  }
  return indices;
}

}  // namespace hr::transport::ofi
