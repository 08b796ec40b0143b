// Reduce by GPUs: each GPU combines its part of the vector, read from all buffers, and stores the result at the root.
#include <algorithm>

#include "coll/device/buffers.hpp"
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

using device::DeviceBuffers;

constexpr Count kGrain = 256;  // elements; see allreduce/device.cpp

Status start(const Call& call, DeviceBuffers& buffers) {
  const Count count = contribution(call).count;
  const Cut cut{(count + kGrain - 1) / kGrain, call.size()};
  layout::cuda::Reduction reduction;
  reduction.first = std::min(count, cut.begin(call.rank()) * kGrain);
  reduction.count = std::min(count, cut.begin(call.rank() + 1) * kGrain) - reduction.first;
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
