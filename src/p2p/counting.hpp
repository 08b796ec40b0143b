// Reports messages and waits to the counters (base/counters.hpp). Threads: library lock.
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

// Contexts per communicator. The first is for the program's messages, kPartsContext for parts of its partitioned
// messages; the library uses the others internally.
inline constexpr std::uint32_t kContextsOfOne = 16;
inline constexpr std::uint32_t kPartsContext = 7;
inline constexpr std::uint32_t kChannelDataContext = 13;  // data of channels' messages that the engine moves
[[nodiscard]] inline bool is_programs(std::uint32_t context) noexcept {
  const std::uint32_t use = context % kContextsOfOne;
  return use == 0 || use == kPartsContext;
}

// Returns the counters of a peer to which this process has connected.
[[nodiscard]] counters::Peer& row_of(const Peer& peer) noexcept;
// Counts the start of a send that has a request.
void count_send(const Peer& peer, const Request& send) noexcept;

// Counts a message that has arrived with its data.
inline void count_eager(std::size_t bytes) noexcept { counters::page.received[0].add(bytes); }
// Counts a message whose data this protocol will move.
void count_rendezvous(const Rendezvous& protocol, const mem::Location& to, std::size_t bytes) noexcept;
// Counts a message to memory other than plain host memory.
void count_to(const mem::Location& to, std::size_t bytes) noexcept;
// Returns the names of the protocols, in the order of counters::page.received.
[[nodiscard]] std::vector<std::string_view> names_of_protocols();

// Returns the process on which the completion of this request depends, or depended; -1: no single process, or not known
// yet.
[[nodiscard]] int waits_for(const Request* request) noexcept;

}  // namespace hr::p2p
