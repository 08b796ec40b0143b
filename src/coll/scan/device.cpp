// Scan and exscan on GPUs: each GPU combines the contributions of the lower ranks (for scan, also its own), read from
// their buffers. Not in place: a result would overwrite data that others still read.
#include "coll/device/buffers.hpp"
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

using device::DeviceBuffers;

Status start(const Call& call, DeviceBuffers& buffers) {
  const bool inclusive = call.operation == Operation::kScan;
  layout::device::Reduction reduction;
  reduction.count = contribution(call).count;
  for (int rank = 0; rank <= call.rank(); ++rank) {
    DeviceBuffers::PeerPointers pointers;
    HR_TRY(buffers.peer_pointers(call, rank, &pointers));
    if (rank < call.rank() || inclusive) reduction.inputs[reduction.ninputs++] = pointers.send;
    if (rank == call.rank()) reduction.outputs[reduction.noutputs++] = pointers.recv;
  }
  if (reduction.ninputs == 0) return kOk;  // exscan on rank 0
  return buffers.work().reduce(buffers.near(), *call.op, *contribution(call).type, reduction);
}

Task run(const Call& call) { return DeviceBuffers::execute(call, &start); }

bool probe(const Query& query) noexcept { return on_devices(query) && !query.in_place; }

}  // namespace

const Algorithm scan_device = {
    "device", serves(Operation::kScan, Operation::kExscan), &probe, &run, Sharing::kFlagLines, true};

}  // namespace hr::coll
