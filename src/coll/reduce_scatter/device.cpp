// Reduce-scatter on GPUs: each GPU combines its own block, read from all buffers; among processes that take turns on a
// GPU, one combines the blocks of all. Not in place: a result would overwrite data that others still read.
#include "coll/device/buffers.hpp"
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

using device::DeviceBuffers;

// Combines the block of `owner`, which begins `first` elements after the begin of the vector.
Status reduce_block(const Call& call, DeviceBuffers& buffers, int owner, Count first) {
  const layout::Datatype& type = *call.recv.all().type;
  layout::device::Reduction reduction;
  reduction.count = call.send.count(owner);
  const auto before = static_cast<std::uint64_t>(first * type.extent());
  for (int rank = 0; rank < call.size(); ++rank) {
    DeviceBuffers::PeerPointers pointers;
    HR_TRY(buffers.peer_pointers(call, rank, &pointers));
    reduction.inputs[reduction.ninputs++] = pointers.send + before;
    if (rank == owner) reduction.outputs[reduction.noutputs++] = pointers.recv;
  }
  return buffers.work().reduce(buffers.near(), *call.op, type, reduction);
}

Status start(const Call& call, DeviceBuffers& buffers) {
  Count first = 0;
  for (int owner = 0; owner < call.size(); ++owner) {
    if (DeviceBuffers::worker_of(call, owner) == call.rank()) HR_TRY(reduce_block(call, buffers, owner, first));
    first += call.send.count(owner);
  }
  return kOk;
}

Task run(const Call& call) { return DeviceBuffers::execute(call, &start); }

bool probe(const Query& query) noexcept { return on_devices(query); }

}  // namespace

const Algorithm reduce_scatter_device = {
    "device", serves(Operation::kReduceScatter, Operation::kReduceScatterBlock), &probe, &run, Sharing::kFlagLines,
    true};

}  // namespace hr::coll
