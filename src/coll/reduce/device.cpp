// Reduce on GPUs: each GPU combines its part of the vector, read from all buffers, and stores the result at the root.
// With three or more GPUs and a long vector, the root's combines nothing: the results from the others already saturate
// its link.
#include "coll/device/buffers.hpp"
#include "coll/device/parts.hpp"
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

using device::DeviceBuffers;

constexpr Count kGrain = 256;  // elements; see allreduce/device.cpp
constexpr std::size_t kLong = std::size_t{8} << 20;

Status start(const Call& call, DeviceBuffers& buffers) {
  const Count count = contribution(call).count;
  const bool spares_root = call.bytes >= kLong && DeviceBuffers::devices(call) >= 3;
  const DeviceBuffers::Part part = DeviceBuffers::own_part(call, spares_root ? call.root : -1);
  if (part.index < 0) return kOk;
  layout::device::Reduction reduction;
  device::take_part(reduction, count, kGrain, part);
  for (int rank = 0; rank < call.size(); ++rank) {
    DeviceBuffers::PeerPointers pointers;
    HR_TRY(buffers.peer_pointers(call, rank, &pointers));
    reduction.inputs[reduction.ninputs++] = pointers.send;
    if (rank == call.root) reduction.outputs[reduction.noutputs++] = pointers.recv;
  }
  return buffers.work().reduce(buffers.near(), *call.op, *contribution(call).type, reduction);
}

Task run(const Call& call) { return DeviceBuffers::execute(call, &start); }

}  // namespace

const Algorithm reduce_device = {"device", serves(Operation::kReduce), &on_devices, &run, Sharing::kFlagLines, true};

}  // namespace hr::coll
