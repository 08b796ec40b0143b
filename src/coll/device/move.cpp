// All operations that only move data, on GPUs: each GPU fetches everything that its process receives, from layout to
// layout, in few launches.
#include "coll/device/buffers.hpp"
#include "coll/messages.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

using device::DeviceBuffers;

Status start(const Call& call, DeviceBuffers& buffers) { return buffers.fetch(call); }

Task run(const Call& call) { return DeviceBuffers::execute(call, &start); }

}  // namespace

const Algorithm move_device = {
    "device",
    serves(Operation::kBcast, Operation::kGather, Operation::kGatherv, Operation::kScatter, Operation::kScatterv,
           Operation::kAllgather, Operation::kAllgatherv, Operation::kAlltoall, Operation::kAlltoallv,
           Operation::kAlltoallw, Operation::kNeighborAllgather, Operation::kNeighborAllgatherv,
           Operation::kNeighborAlltoall, Operation::kNeighborAlltoallv, Operation::kNeighborAlltoallw),
    &on_devices,
    &run,
    Sharing::kFlagLines,
    true};

}  // namespace hr::coll
