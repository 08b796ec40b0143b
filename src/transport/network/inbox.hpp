// Inbox: checks the messages that a network library has received, restores their order, and passes them to the
// handlers.
//
// Anything may connect and send to this process: nothing is trusted or stored until the Head has been verified to
// contain this process's secret. A message that arrives before its turn is stored; no other is copied.
//
// A ready-to-send message comes with a token, by which the transport finds the data of the rendezvous. The handler
// receives the token after the payload. Owner: the transport. Threads: library lock.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

#include "base/buffered.hpp"
#include "transport/network/in_order.hpp"
#include "transport/network/names.hpp"
#include "transport/transport.hpp"

namespace hr::transport::network {

// Maximum payload of a ready-to-send message, in bytes.
inline constexpr std::size_t kMostRtsPayload = 512;

class Inbox {
 public:
  // `of`: counts the memory of messages that are stored.
  Inbox(const Names& names, const Handlers& handlers, counters::Buffers of)
      : names_(names), handlers_(handlers), buffered_(of) {}

  // Takes a message: a Head (buffers.hpp) and a payload, of any alignment and content. `token`: that of a ready-to-send
  // message; 0 for other messages. Handlers may send and connect, but make no progress. False if the message was
  // dropped.
  bool take(const std::byte* message, std::size_t bytes, std::uint64_t token);

  // True if this token was passed to a handler and has not been released since.
  [[nodiscard]] bool holds(std::uint64_t token) const noexcept { return rendezvous_.contains(token); }
  // Forgets the token. False if it was not held.
  bool release(std::uint64_t token) noexcept { return rendezvous_.erase(token) != 0; }

  // Returns the low bits of the number of messages delivered from process `from`.
  [[nodiscard]] std::uint32_t delivered(int from) noexcept { return order_of(from).delivered(); }
  // Forgets a process; its next message has number 0.
  void forget(int proc) noexcept {
    for (const auto& [number, early] : order_of(proc).early()) buffered_.give_back(early.bytes.size());
    order_of(proc) = {};
  }

 private:
  // A message that arrived before its turn: its Head, its payload, and the RendezvousData that came with it.
  struct Early {
    std::vector<std::byte> bytes;
  };

  InOrder<Early>& order_of(int proc) {
    const auto at = static_cast<std::size_t>(proc);
    if (at >= orders_.size()) [[unlikely]]
      orders_.resize(at + 1);
    return orders_[at];
  }

  const Names& names_;
  const Handlers& handlers_;
  Buffered buffered_;
  std::vector<InOrder<Early>> orders_;  // indexed by process
  std::unordered_set<std::uint64_t> rendezvous_;
};

}  // namespace hr::transport::network
