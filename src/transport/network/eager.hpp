// Eager limits for all network transports.
#pragma once

#include <cstddef>
#include <string>

namespace hr::transport::network {

// Returns the limit tuned for two hosts, identified by name; 0: not tuned.
[[nodiscard]] std::size_t tuned_eager_bytes(const std::string& one, const std::string& other);

// Returns the size of the largest message worth sending eagerly on a path of this latency: a rendezvous takes a round
// trip, and an eager message is copied. `tuned`: the result of tuned_eager_bytes(). The user's limit takes precedence
// over that of the path; the result is at most `most`.
[[nodiscard]] std::size_t eager_bytes(std::size_t tuned, double latency_seconds, std::size_t most) noexcept;

}  // namespace hr::transport::network
