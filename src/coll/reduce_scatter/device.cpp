// Reduce-scatter on GPUs: each GPU combines its own block, read from all buffers. Not in place: a result would
// overwrite data that others still read.
#include "coll/device/buffers.hpp"
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

using device::DeviceBuffers;

Status start(const Call& call, DeviceBuffers& buffers) {
  const View& result = call.recv.all();
  const Count count = result.count;
  Count first = 0;
  for (int rank = 0; rank < call.rank(); ++rank) first += call.send.count(rank);
  layout::device::Reduction reduction;
  reduction.count = count;
  const auto before = static_cast<std::uint64_t>(first * result.type->extent());
  for (int rank = 0; rank < call.size(); ++rank) {
    DeviceBuffers::PeerPointers pointers;
    HR_TRY(buffers.peer_pointers(call, rank, &pointers));
    reduction.inputs[reduction.ninputs++] = pointers.send + before;
    if (rank == call.rank()) reduction.outputs[reduction.noutputs++] = pointers.recv;
  }
  return buffers.work().reduce(buffers.near(), *call.op, *result.type, reduction);
}

Task run(const Call& call) { return DeviceBuffers::execute(call, &start); }

bool probe(const Query& query) noexcept { return on_devices(query) && !query.in_place; }

}  // namespace

const Algorithm reduce_scatter_device = {
    "device", serves(Operation::kReduceScatter, Operation::kReduceScatterBlock), &probe, &run, Sharing::kFlagLines,
    true};

}  // namespace hr::coll
