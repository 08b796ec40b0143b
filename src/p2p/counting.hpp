// What the counters (base/counters.hpp) are told of messages and waits. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/counters.hpp"
#include "mem/mem.hpp"

namespace hr::p2p {

class Request;
struct Peer;
struct Rendezvous;

// The context is one of the program's messages, and not of the library's own. A communicator has kContextsOfOne of
// them; the first is for messages of the program, kPartsContext for parts of its partitioned ones.
inline constexpr std::uint32_t kContextsOfOne = 16;
inline constexpr std::uint32_t kPartsContext = 7;
[[nodiscard]] inline bool is_programs(std::uint32_t context) noexcept {
  const std::uint32_t use = context % kContextsOfOne;
  return use == 0 || use == kPartsContext;
}

// The row of a peer that this process has connected to.
[[nodiscard]] counters::Peer& row_of(const Peer& peer) noexcept;
// A send that has a request begins its way.
void count_send(const Peer& peer, const Request& send) noexcept;

// A message has come with its data.
inline void count_eager(std::size_t bytes) noexcept { counters::page.received[0].add(bytes); }
// Its data is to be moved that way.
void count_rendezvous(const Rendezvous& protocol, const mem::Location& to, std::size_t bytes) noexcept;
// A message of other memory than the host's has come.
void count_to(const mem::Location& to, std::size_t bytes) noexcept;
// In the order of their places.
[[nodiscard]] std::vector<std::string_view> names_of_protocols();

// Whom the end of this request takes, or has taken; -1: no single process, or not known yet.
[[nodiscard]] int waits_for(const Request* request) noexcept;

}  // namespace hr::p2p
