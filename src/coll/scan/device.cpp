// Scan and exscan on GPUs: each GPU combines the contributions of the lower ranks (for scan, also its own), read from
// their buffers; among processes that take turns on a GPU, one combines the results of all. Not in place: a result
// would overwrite data that others still read.
#include "coll/device/buffers.hpp"
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

using device::DeviceBuffers;

// Combines the result of `owner`.
Status reduce_for(const Call& call, DeviceBuffers& buffers, int owner) {
  const bool inclusive = call.operation == Operation::kScan;
  layout::device::Reduction reduction;
  reduction.count = contribution(call).count;
  for (int rank = 0; rank <= owner; ++rank) {
    DeviceBuffers::PeerPointers pointers;
    HR_TRY(buffers.peer_pointers(call, rank, &pointers));
    if (rank < owner || inclusive) reduction.inputs[reduction.ninputs++] = pointers.send;
    if (rank == owner) reduction.outputs[reduction.noutputs++] = pointers.recv;
  }
  if (reduction.ninputs == 0) return kOk;  // exscan on rank 0
  return buffers.work().reduce(buffers.near(), *call.op, *contribution(call).type, reduction);
}

Status start(const Call& call, DeviceBuffers& buffers) {
  for (int owner = 0; owner < call.size(); ++owner) {
    if (DeviceBuffers::worker_of(call, owner) == call.rank()) HR_TRY(reduce_for(call, buffers, owner));
  }
  return kOk;
}

Task run(const Call& call) { return DeviceBuffers::execute(call, &start); }

bool probe(const Query& query) noexcept { return on_devices(query); }

}  // namespace

const Algorithm scan_device = {
    "device", serves(Operation::kScan, Operation::kExscan), &probe, &run, Sharing::kFlagLines, true};

}  // namespace hr::coll
