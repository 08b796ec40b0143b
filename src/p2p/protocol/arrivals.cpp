#include "p2p/protocol/arrivals.hpp"

#include <algorithm>
#include <cstring>

#include "base/dropped.hpp"
#include "p2p/core/engine.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p {
namespace {

// Returns the request, or null if the cookie names no live request: a message may contain any number as its cookie.
Request* live(std::uint64_t cookie) noexcept {
  auto* const request = reinterpret_cast<Request*>(cookie);
  if (request == &engine()->blocking_receive) return engine()->blocking_receive_taken ? request : nullptr;
  return Arena<Request>::instance().owns(request) ? request : nullptr;
}

transport::Transport* transport_with(int from, transport::RendezvousData data) noexcept {
  for (transport::Transport* each : engine()->transports) {
    if (each->has_rendezvous(from, data)) return each;
  }
  return nullptr;
}

}  // namespace

void drop_arrival(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) noexcept {
  const auto kind = static_cast<wire::Kind>(transport::kind_of(header));
  const bool keeps = kind == wire::Kind::kRts || kind == wire::Kind::kNetworkPiece || kind == wire::Kind::kNetworkWhole;
  if (transport::RendezvousData data; keeps && bytes >= sizeof data) {
    std::memcpy(&data, payload + bytes - sizeof data, sizeof data);
    decline_rendezvous(from, data);
  }
  drop_message(from, "it does not fit anything that is under way here");
}

Request* waiting_send(int from, std::uint64_t cookie) noexcept {
  Request* const send = live(cookie);
  const bool waits = send != nullptr && !send->is_receive_ && send->phase_ == Request::Phase::kWaiting;
  return waits && send->proc_ == from ? send : nullptr;
}

// The engine's request for blocking receives is never a send, so its is_receive_ is not checked.
Request* moving_receive(int from, std::uint64_t cookie) noexcept {
  Request* const receive = live(cookie);
  if (receive == nullptr || receive->phase_ != Request::Phase::kMoving || receive->proc_ != from) return nullptr;
  return receive->is_receive_ || receive == &engine()->blocking_receive ? receive : nullptr;
}

bool is_held(const Request& request) noexcept {
  return std::ranges::any_of(protocols(),
                             [&](const Rendezvous* each) { return each->holds != nullptr && each->holds(request); });
}

bool has_rendezvous(int from, transport::RendezvousData data) noexcept { return transport_with(from, data) != nullptr; }

void decline_rendezvous(int from, transport::RendezvousData data) noexcept {
  if (transport::Transport* const transport = transport_with(from, data); transport != nullptr)
    transport->decline_rendezvous(from, data);
}

}  // namespace hr::p2p
