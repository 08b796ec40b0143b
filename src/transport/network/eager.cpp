#include "transport/network/eager.hpp"

#include <algorithm>
#include <string_view>

#include "base/knobs.hpp"

namespace hr::transport::network {
namespace {

// Speed at which the processor copies data that has just arrived.
constexpr double kCopiedBytesPerSecond = 8e9;
constexpr std::size_t kLeastEager = 8192;
constexpr std::size_t kMostByItself = 65536;

}  // namespace

std::size_t tuned_eager_bytes(const std::string& one, const std::string& other) {
  constexpr std::string_view kKnob = "network_eager_bytes";
  const auto tuned = tuned_for_peers(kKnob, one + "," + other);
  return (tuned ? tuned : tuned_for_peers(kKnob, other + "," + one)).value_or(0);
}

std::size_t eager_bytes(std::size_t tuned, double latency_seconds, std::size_t most) noexcept {
  const std::size_t wanted = tuned != 0 ? tuned : knobs().network_eager_bytes;
  if (wanted != 0) return std::min(wanted, most);
  const auto covered = static_cast<std::size_t>(2 * latency_seconds * kCopiedBytesPerSecond);
  return std::min(std::clamp(covered, kLeastEager, kMostByItself), most);
}

}  // namespace hr::transport::network
