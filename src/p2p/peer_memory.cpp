#include "p2p/peer_memory.hpp"

#include "transport/transport.hpp"

namespace hr::p2p {

bool shares_memory(int proc) noexcept { return transport::shares_memory(proc); }

Status read_peer_memory(int proc, std::uint64_t remote_address, void* local, std::size_t bytes) {
  for (transport::Transport* each : transport::active()) {
    if (each->reaches(proc) && each->caps(proc).remote_read) {
      const transport::RemotePart part{remote_address, static_cast<std::byte*>(local), bytes};
      return each->get(proc, nullptr, {&part, 1}, nullptr);
    }
  }
  return fail(Errc::kUnsupportedOperation, "no transport reads the memory of rank %d", proc);
}

}  // namespace hr::p2p
