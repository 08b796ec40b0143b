#include "p2p/layer_message.hpp"

#include "p2p/engine.hpp"
#include "p2p/loss.hpp"

namespace hr::p2p {

void set_handler(wire::Kind kind, transport::Handler handler) noexcept {
  engine()->upcalls.handlers[static_cast<std::size_t>(kind)] = handler;
}

Status longest_message(int proc, std::size_t* bytes) {
  Peer* peer = nullptr;
  HR_TRY(connected_peer(proc, &peer));
  *bytes = peer->caps.max_payload;
  return kOk;
}

Status send_message(int proc, const transport::Header& header, const void* payload, std::size_t bytes) {
  Peer* peer = nullptr;
  HR_TRY(connected_peer(proc, &peer));
  send_control(proc, header, payload, bytes);
  return peer->lost ? lost_error(proc) : kOk;
}

}  // namespace hr::p2p
