#include "transport/ucx/disconnects.hpp"

#include <cstring>

#include "base/dropped.hpp"

namespace hr::transport::ucx {

namespace {

// Text on the wire.
struct Text {
  std::uint32_t from;
  std::uint32_t unused;
  network::Secret secret;
};

}  // namespace

Status Disconnects::listen() { return ucx::listen(library_, worker_, kDisconnects, 0, arrive, this); }

void Disconnects::send(int proc, ucp_ep_h endpoint) {
  static_cast<void>(send_text(library_, endpoint, kDisconnects, Text{names_.own_for(proc), 0, names_.secret_of(proc)}));
}

ucs_status_t Disconnects::arrive(void* self, const void* header, std::size_t header_bytes, void* /*data*/,
                                 std::size_t /*bytes*/, const ucp_am_recv_param_t* /*how*/) {
  auto& disconnects = *static_cast<Disconnects*>(self);
  Text text{};
  if (header_bytes == sizeof text) std::memcpy(&text, header, sizeof text);
  const int proc = header_bytes == sizeof text ? disconnects.names_.proc_of(text.from, text.secret) : -1;
  proc >= 0 ? static_cast<void>(disconnects.come_.insert(proc)) : drop_message(-1, network::kUnknownSender);
  return UCS_OK;
}

}  // namespace hr::transport::ucx
