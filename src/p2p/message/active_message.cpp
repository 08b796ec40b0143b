#include "p2p/active_message.hpp"

#include "p2p/core/steps.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p {
namespace {

struct Handlers final : FileState {
  ActiveMessageHandler of[kActiveMessageIds] = {};
};

void deliver_active_message(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  if (wire::way(header) >= kActiveMessageIds) return drop_arrival(from, header, payload, bytes);
  const ActiveMessageHandler handler = own<Handlers>().of[wire::way(header)];
  if (handler != nullptr) handler({from, has_failed(from), header.words[1], payload, bytes});
}

constexpr Arrival kArrivals[] = {{wire::Kind::kActiveMessage, deliver_active_message}};

}  // namespace

std::span<const Arrival> active_message_arrivals() noexcept { return kArrivals; }

void set_active_message_handler(wire::Kind kind, transport::Handler handler) noexcept {
  engine()->handlers.of_kind[static_cast<std::size_t>(kind)] = handler;
}

void set_active_message_handler(ActiveMessageId id, ActiveMessageHandler handler) {
  if (engine() != nullptr) own<Handlers>().of[static_cast<std::size_t>(id)] = handler;
}

Status longest_active_message(int proc, std::size_t* bytes) {
  Peer* peer = nullptr;
  HR_TRY(connected_peer(proc, &peer));
  *bytes = peer->caps.max_payload;
  return kOk;
}

Status send_active_message(int proc, const transport::Header& header, const void* payload, std::size_t bytes) {
  Peer* peer = nullptr;
  HR_TRY(connected_peer(proc, &peer));
  send_control(proc, header, payload, bytes);
  return peer->failed ? failure_error(proc) : kOk;
}

void send_active_message(int proc, ActiveMessageId id, std::uint64_t subject, const void* payload, std::size_t bytes) {
  send_control(proc, wire::active_message(static_cast<std::uint8_t>(id), subject), payload, bytes);
}

}  // namespace hr::p2p
