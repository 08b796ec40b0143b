// Path: UCX's description of the path to another process, as far as its version provides one.
//
// Threads: library lock.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "transport/ucx/library.hpp"

namespace hr::transport::ucx {

struct Path {
  // UCX's estimate, or these defaults if it has none.
  double latency_seconds = 10e-6;
  double bytes_per_second = 2e9;
  std::size_t tuned_eager_bytes = 0;  // value tuned for these two hosts; 0: not tuned
  // True if data and messages share a byte stream (TCP), in which a short message waits behind earlier data.
  bool is_stream = false;
  // True if the network reads and writes the other side's memory without involving its processor.
  bool moves_memory = false;

  // Returns the size of the largest message worth sending eagerly (network/eager.hpp).
  [[nodiscard]] std::size_t eager_bytes() const noexcept;
};

[[nodiscard]] Path path_of(const Library& library, ucp_ep_h endpoint);
// True if one of these networks, in the notation of transports_of(), executes UCX's put and get itself (RDMA).
[[nodiscard]] bool moves_memory(std::string_view transports);
// Returns the networks and devices that the endpoint uses: "tcp/eth0, tcp/eth1"; empty if UCX does not report them.
[[nodiscard]] std::string transports_of(const Library& library, ucp_ep_h endpoint);

}  // namespace hr::transport::ucx
