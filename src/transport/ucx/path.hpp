// Path: UCX's description of the way to another process, as far as its version gives any.
//
// Threads: library lock.
#pragma once

#include <cstddef>
#include <string>

#include "transport/ucx/library.hpp"

namespace hr::transport::ucx {

struct Path {
  // UCX's estimate; if it has none, that of a network of this class.
  double latency_seconds = 10e-6;
  double bytes_per_second = 2e9;
  std::size_t tuned_eager_bytes = 0;  // for these two hosts; 0: not tuned
  // Data and messages share a byte stream (TCP), in which a short message waits behind what is in front of it.
  bool is_stream = false;

  // The largest message worth sending eagerly: a rendezvous takes a round trip, and an eager message is copied.
  [[nodiscard]] std::size_t eager_bytes() const noexcept;
};

[[nodiscard]] Path path_of(const Library& library, ucp_ep_h endpoint);
// Returns the networks that it uses and the devices: "tcp/eth0, tcp/eth1"; empty if UCX does not say.
[[nodiscard]] std::string transports_of(const Library& library, ucp_ep_h endpoint);

}  // namespace hr::transport::ucx
