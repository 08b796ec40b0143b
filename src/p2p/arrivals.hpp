// Arrivals: which kinds of messages do what, and what a message of another process has to be like before anything is
// done with it.
//
// A transport vouches for the process that a message comes from and for the length of its payload, no more. What stands
// in it is checked here and in the handlers: lengths before anything is read, contexts and ranges before they are used,
// and a cookie before it becomes a request again: it must be one of this process that is under way with that very
// process, in the phase in which such a message can come. What does not fit is dropped (base/dropped.hpp), and changes
// nothing. Short eager messages pay nothing for this. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "p2p/loss.hpp"
#include "p2p/request.hpp"
#include "p2p/wire.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// One kind of message, and the handler that alone takes it.
struct Arrival {
  wire::Kind kind;
  transport::Handler handler;
};

// Gives up a message that is not as it has to be, and the data that its transport keeps for it.
[[gnu::cold, gnu::noinline]] void drop_arrival(int from, const transport::Header& header, const std::byte* payload,
                                               std::size_t bytes) noexcept;

// The request that a cookie names; null: none of which that process may say this.
// A send to it that waits for what its receiver says.
[[nodiscard]] Request* waiting_send(int from, std::uint64_t cookie) noexcept;
// A receive that has met a message of it, whose data is to come.
[[nodiscard]] Request* moving_receive(int from, std::uint64_t cookie) noexcept;

// This process is copying the data of this request, or about to.
[[nodiscard]] bool is_held(const Request& request) noexcept;
// So many bytes from this place on are part of the message.
[[nodiscard]] inline bool lies_in(const Request& receive, std::size_t offset, std::size_t bytes) noexcept {
  return offset <= receive.total_ && bytes <= receive.total_ - offset;
}
// Bytes that nothing has come for.
[[nodiscard]] inline std::size_t missing_bytes(const Request& receive) noexcept {
  return receive.offset_ < receive.total_ ? receive.total_ - receive.offset_ : 0;
}

// The transport that the message came by keeps this data for it.
[[nodiscard]] bool is_announced(int from, transport::AnnouncedData data) noexcept;
// Gives it up, if so.
void refuse_announced(int from, transport::AnnouncedData data) noexcept;

// Of messages that a process may send which is not lost; at least so many bytes of payload.
template <transport::Handler kDeliver, std::size_t kLeast>
void deliver_of_the_living(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  if (is_lost(from)) return;
  if (bytes < kLeast) [[unlikely]]
    return drop_arrival(from, header, payload, bytes);
  kDeliver(from, header, payload, bytes);
}
template <transport::Handler kDeliver, std::size_t kLeast = 0>
constexpr Arrival arrival(wire::Kind kind) noexcept {
  return {kind, deliver_of_the_living<kDeliver, kLeast>};
}

// The same of those that name a request by a word of the header. False: the message does not fit it.
using RequestHandler = bool (*)(int from, Request& request, const transport::Header& header, const std::byte* payload,
                                std::size_t bytes);
using FindRequest = Request* (*)(int from, std::uint64_t cookie) noexcept;
template <FindRequest kFind, std::size_t kWord, RequestHandler kDeliver, std::size_t kLeast>
void deliver_to_request(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  if (is_lost(from)) return;
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
