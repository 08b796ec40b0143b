// The time after which a silent host counts as failed, for all network transports.
#pragma once

#include <algorithm>

#include "base/knobs.hpp"

namespace hr::transport::network {

// Returns HEADRACE_NETWORK_TIMEOUT plus a grace period. After an interruption just shorter than the timeout, it may
// take as long again until a peer is heard, because TCP retransmits at intervals that double. The grace period is at
// most 8 s, as in mpiexec (launcher/wire/channel.cpp).
[[nodiscard]] inline double silence_seconds() noexcept {
  constexpr double kMostGrace = 8;
  const double limit = knobs().network_timeout;
  return limit + std::min(limit, kMostGrace);
}

// Keepalive probes of TCP, in seconds: the first after half of HEADRACE_NETWORK_TIMEOUT without data, the others until
// silence_seconds().
struct Probes {
  double first;
  double between;
  static constexpr int kCount = 3;
};

[[nodiscard]] inline Probes keepalive_probes() noexcept {
  const double first = knobs().network_timeout / 2;
  return {first, (silence_seconds() - first) / Probes::kCount};
}

}  // namespace hr::transport::network
