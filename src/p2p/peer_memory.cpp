#include "p2p/peer_memory.hpp"

#include "transport/transport.hpp"

namespace hr::p2p {

bool shares_memory(int proc) noexcept { return transport::shares_memory(proc); }

Status read_peer_memory(int proc, std::uint64_t remote_address, void* local, std::size_t bytes) {
  if (transport::Transport* const memory = transport::path_to_memory(proc)) {
    const transport::RemotePart part{remote_address, static_cast<std::byte*>(local), bytes};
    return memory->get(proc, nullptr, {&part, 1}, nullptr);
  }
  return fail(Errc::kUnsupportedOperation, "no transport reads the memory of rank %d", proc);
}

}  // namespace hr::p2p
