// Arrivals: the handler of each kind of message, and the checks that a message from another process must pass before it
// is acted upon.
//
// A transport guarantees only the sender of a message and the length of its payload. Everything else is checked here
// and in the handlers: lengths before anything is read, contexts and ranges before they are used, and a cookie before
// it is cast to a request: that request must be pending in this process, have the sender as its peer, and be in a phase
// in which such a message is possible. An invalid message is dropped (base/dropped.hpp) and changes nothing. This adds
// no cost to short eager messages. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "p2p/core/wire.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/request.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// A kind of message and its only handler.
struct Arrival {
  wire::Kind kind;
  transport::Handler handler;
};

// Drops an invalid message, and the data that its transport keeps for it.
[[gnu::cold, gnu::noinline]] void drop_arrival(int from, const transport::Header& header, const std::byte* payload,
                                               std::size_t bytes) noexcept;

// Both return the request that a cookie names, or null if process `from` may not refer to it.
// waiting_send(): a send to `from` that waits for an answer from it.
[[nodiscard]] Request* waiting_send(int from, std::uint64_t cookie) noexcept;
// moving_receive(): a receive that has matched a message from `from`, and whose data is still to arrive.
[[nodiscard]] Request* moving_receive(int from, std::uint64_t cookie) noexcept;

// True if this process is copying the data of this request, or is about to.
[[nodiscard]] bool is_held(const Request& request) noexcept;
// True if the `bytes` bytes at this offset lie within the message.
[[nodiscard]] inline bool lies_in(const Request& receive, std::size_t offset, std::size_t bytes) noexcept {
  return offset <= receive.total_ && bytes <= receive.total_ - offset;
}
// Number of bytes that have not arrived yet.
[[nodiscard]] inline std::size_t missing_bytes(const Request& receive) noexcept {
  return receive.offset_ < receive.total_ ? receive.total_ - receive.offset_ : 0;
}

// True if a transport keeps this data for a message from process `from`.
[[nodiscard]] bool has_rendezvous(int from, transport::RendezvousData data) noexcept;
// Declines the data, if has_rendezvous() is true for it.
void decline_rendezvous(int from, transport::RendezvousData data) noexcept;

// Passes a message to kDeliver, unless its sender has failed. Drops a message with a payload of less than kLeast bytes.
template <transport::Handler kDeliver, std::size_t kLeast>
void deliver_from_live(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  if (has_failed(from)) return;
  if (bytes < kLeast) [[unlikely]]
    return drop_arrival(from, header, payload, bytes);
  kDeliver(from, header, payload, bytes);
}
template <transport::Handler kDeliver, std::size_t kLeast = 0>
constexpr Arrival arrival(wire::Kind kind) noexcept {
  return {kind, deliver_from_live<kDeliver, kLeast>};
}

// Like deliver_from_live(), for messages that name a request in word kWord of the header. The handler returns false if
// the message is not valid for the request.
using RequestHandler = bool (*)(int from, Request& request, const transport::Header& header, const std::byte* payload,
                                std::size_t bytes);
using FindRequest = Request* (*)(int from, std::uint64_t cookie) noexcept;
template <FindRequest kFind, std::size_t kWord, RequestHandler kDeliver, std::size_t kLeast>
void deliver_to_request(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  if (has_failed(from)) return;
  Request* const request = bytes < kLeast ? nullptr : kFind(from, header.words[kWord]);
  if (request == nullptr || !kDeliver(from, *request, header, payload, bytes)) [[unlikely]]
    drop_arrival(from, header, payload, bytes);
}
template <RequestHandler kDeliver, std::size_t kLeast = 0>
constexpr Arrival arrival_at_send(wire::Kind kind) noexcept {
  return {kind, deliver_to_request<waiting_send, 2, kDeliver, kLeast>};
}
template <RequestHandler kDeliver, std::size_t kLeast = 0, std::size_t kWord = 1>
constexpr Arrival arrival_at_receive(wire::Kind kind) noexcept {
  return {kind, deliver_to_request<moving_receive, kWord, kDeliver, kLeast>};
}

}  // namespace hr::p2p
