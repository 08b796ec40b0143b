// Allreduce by GPUs. push: each GPU combines its part of the vector, read from all buffers, and stores the result into
// all buffers. All links are used in both directions at once, and every element is read before the same thread
// overwrites it, so that it also works in place. pull: each GPU reads all of every buffer and stores nothing across a
// link, which is faster for short vectors.
#include <algorithm>

#include "coll/device/buffers.hpp"
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

using device::DeviceBuffers;

// Parts begin at multiples of this many elements, so that wide accesses are aligned to cache lines.
constexpr Count kGrain = 256;

// The inputs are all contributions in the order of ranks, so that the result has the same bits everywhere.
Status reduce(const Call& call, DeviceBuffers& buffers, Count first, Count count, bool push) {
  layout::cuda::Reduction reduction;
  reduction.first = first;
  reduction.count = count;
  for (int rank = 0; rank < call.size(); ++rank) {
    DeviceBuffers::PeerPointers pointers;
    HR_TRY(buffers.peer_pointers(call, rank, &pointers));
    reduction.inputs[reduction.ninputs++] = pointers.send;
    if (push || rank == call.rank()) reduction.outputs[reduction.noutputs++] = pointers.recv;
  }
  return buffers.work().reduce(buffers.near(), *call.op, *contribution(call).type, reduction);
}

Status start_push(const Call& call, DeviceBuffers& buffers) {
  const Count count = call.recv.all().count;
  const Cut cut{(count + kGrain - 1) / kGrain, call.size()};
  const Count first = std::min(count, cut.begin(call.rank()) * kGrain);
  return reduce(call, buffers, first, std::min(count, cut.begin(call.rank() + 1) * kGrain) - first, true);
}

Status start_pull(const Call& call, DeviceBuffers& buffers) {
  return reduce(call, buffers, 0, call.recv.all().count, false);
}

Task push(const Call& call) { return DeviceBuffers::execute(call, &start_push); }
Task pull(const Call& call) { return DeviceBuffers::execute(call, &start_pull); }

bool can_pull(const Query& query) noexcept { return on_devices(query) && !query.in_place; }

}  // namespace

const Algorithm allreduce_device_push = {"device_push", serves(Operation::kAllreduce), &on_devices,
                                         &push,         Sharing::kFlagLines,           true};
const Algorithm allreduce_device_pull = {"device_pull", serves(Operation::kAllreduce), &can_pull,
                                         &pull,         Sharing::kFlagLines,           true};

}  // namespace hr::coll
