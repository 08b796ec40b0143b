#include "transport/ucx/farewells.hpp"

#include <cstring>

#include "base/dropped.hpp"

namespace hr::transport::ucx {

namespace {

// Text on the wire.
struct Text {
  std::uint32_t from;
  std::uint32_t unused;
  Secret secret;
};

}  // namespace

Status Farewells::listen() { return ucx::listen(library_, worker_, kFarewells, 0, arrive, this); }

void Farewells::say(int proc, ucp_ep_h endpoint) {
  static_cast<void>(send_text(library_, endpoint, kFarewells, Text{names_.own_for(proc), 0, names_.secret_of(proc)}));
}

ucs_status_t Farewells::arrive(void* self, const void* header, std::size_t header_bytes, void* /*data*/,
                               std::size_t /*bytes*/, const ucp_am_recv_param_t* /*how*/) {
  auto& farewells = *static_cast<Farewells*>(self);
  Text text{};
  if (header_bytes == sizeof text) std::memcpy(&text, header, sizeof text);
  const int proc = header_bytes == sizeof text ? farewells.names_.proc_of(text.from, text.secret) : -1;
  proc >= 0 ? static_cast<void>(farewells.heard_.insert(proc)) : drop_message(-1, kOfNobody);
  return UCS_OK;
}

}  // namespace hr::transport::ucx
