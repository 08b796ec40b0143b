// The time after which a silent host counts as failed, for all network transports.
#pragma once

#include <algorithm>

#include "base/knobs.hpp"

namespace hr::transport::network {

// Returns HEADRACE_NETWORK_TIMEOUT and, beyond it, the time in which a peer is heard again after an interruption that
// was just shorter: TCP retransmits at intervals that double. At most 8 s more, as in mpiexec
// (launcher/wire/channel.cpp).
[[nodiscard]] inline double silence_seconds() noexcept {
  constexpr double kMostGrace = 8;
  const double limit = knobs().network_timeout;
  return limit + std::min(limit, kMostGrace);
}

}  // namespace hr::transport::network
