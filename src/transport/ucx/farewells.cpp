#include "transport/ucx/farewells.hpp"

#include <cstring>

namespace hr::transport::ucx {

Status Farewells::listen() { return ucx::listen(library_, worker_, kFarewells, 0, arrive, this); }

void Farewells::say(int proc, ucp_ep_h endpoint) {
  static_cast<void>(send_text(library_, endpoint, kFarewells, names_.own_for(proc)));
}

ucs_status_t Farewells::arrive(void* self, const void* header, std::size_t header_bytes, void* /*data*/,
                               std::size_t /*bytes*/, const ucp_am_recv_param_t* /*how*/) {
  auto& farewells = *static_cast<Farewells*>(self);
  std::uint32_t from = 0;
  if (header_bytes != sizeof from) return UCS_OK;
  std::memcpy(&from, header, sizeof from);
  if (const int proc = farewells.names_.proc_of(from); proc >= 0) farewells.heard_.insert(proc);
  return UCS_OK;
}

}  // namespace hr::transport::ucx
