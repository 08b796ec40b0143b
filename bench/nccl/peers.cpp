#include "nccl/peers.hpp"

namespace bench {
namespace {

// Returns null if this device cannot map the other one's memory.
float* open(const gpu::IpcHandle& handle) {
  constexpr unsigned kLazyPeerAccess = 1;
  gpu::detail::DevicePointer address = 0;
  if (GPU_DRIVER(cuIpcOpenMemHandle)(&address, handle, kLazyPeerAccess) != 0) return nullptr;
  return static_cast<float*>(gpu::detail::pointer_to(address));
}

}  // namespace

Peers::Peers(const World& world, float* send, float* receive) {
  struct Handles {
    gpu::IpcHandle send, receive;
  };
  const Handles mine{gpu::ipc_handle(send), gpu::ipc_handle(receive)};
  std::vector<Handles> all(static_cast<std::size_t>(world.size));
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, world.comm);
  int reached = 1;
  for (int rank = 0; rank < world.size; ++rank) {
    const Handles& handles = all[static_cast<std::size_t>(rank)];
    send_.push_back(rank == world.rank ? send : open(handles.send));
    receive_.push_back(rank == world.rank ? receive : open(handles.receive));
    streams_.push_back(gpu::create_stream(true));
    if (send_.back() == nullptr || receive_.back() == nullptr) reached = 0;
  }
  MPI_Allreduce(MPI_IN_PLACE, &reached, 1, MPI_INT, MPI_MIN, world.comm);
  ready_ = reached != 0;
}

Peers::~Peers() {
  for (gpu::Stream stream : streams_) gpu::destroy_stream(stream);
}

void Peers::copy(const Compared& operation, const Exchange& exchange, bool push) {
  const auto here = [&](const Transfer& each) { return (push ? each.from : each.to) == exchange.place.rank; };
  const auto there = [&](const Transfer& each) { return static_cast<std::size_t>(push ? each.to : each.from); };
  for (const Transfer& each : operation.transfers) {
    if (!here(each)) continue;
    float* const to = push ? receive_[there(each)] : exchange.receive;
    const float* const from = push ? exchange.send : send_[there(each)];
    gpu::copy_async(to + static_cast<std::size_t>(each.to_block) * exchange.count,
                    from + static_cast<std::size_t>(each.from_block) * exchange.count, 4 * exchange.count,
                    streams_[there(each)]);
  }
  for (const Transfer& each : operation.transfers) {
    if (here(each)) gpu::synchronize(streams_[there(each)]);
  }
}

}  // namespace bench
