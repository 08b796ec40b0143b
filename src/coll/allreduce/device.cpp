// Allreduce on GPUs. push: each GPU combines its part of the vector, read from all buffers, and stores the result into
// all buffers. All links are used in both directions at once, and every element is read before the same thread
// overwrites it, so that push also works in place. pull: each GPU reads all of every buffer and stores nothing across a
// link, which is faster for short vectors. Among processes that take turns on a device, one pushes the parts of all.
#include "coll/device/buffers.hpp"
#include "coll/device/parts.hpp"
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

using device::DeviceBuffers;

constexpr Count kGrain = 256;  // elements

// The inputs are all contributions in rank order, so that the results are bitwise identical on all processes.
Status reduce(const Call& call, DeviceBuffers& buffers, bool push) {
  DeviceBuffers::Part part = DeviceBuffers::own_part(call);
  if (part.count < call.size()) push = true;
  if (!push) part = {0, 1};
  if (part.index < 0) return kOk;
  layout::device::Reduction reduction;
  device::take_part(reduction, call.recv.all().count, kGrain, part);
  for (int rank = 0; rank < call.size(); ++rank) {
    DeviceBuffers::PeerPointers pointers;
    HR_TRY(buffers.peer_pointers(call, rank, &pointers));
    reduction.inputs[reduction.ninputs++] = pointers.send;
    if (push || rank == call.rank()) reduction.outputs[reduction.noutputs++] = pointers.recv;
  }
  return buffers.work().reduce(buffers.near(), *call.op, *contribution(call).type, reduction);
}

Status start_push(const Call& call, DeviceBuffers& buffers) { return reduce(call, buffers, true); }

Status start_pull(const Call& call, DeviceBuffers& buffers) { return reduce(call, buffers, false); }

Task push(const Call& call) { return DeviceBuffers::execute(call, &start_push); }
Task pull(const Call& call) { return DeviceBuffers::execute(call, &start_pull); }

bool can_pull(const Query& query) noexcept { return on_devices(query) && !query.in_place; }

}  // namespace

const Algorithm allreduce_device_push = {"device_push", serves(Operation::kAllreduce), &on_devices,
                                         &push,         Sharing::kFlagLines,           true};
const Algorithm allreduce_device_pull = {"device_pull", serves(Operation::kAllreduce), &can_pull,
                                         &pull,         Sharing::kFlagLines,           true};

}  // namespace hr::coll
