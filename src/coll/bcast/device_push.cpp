// Long broadcasts on GPUs: each GPU except the root's reads its part of the data from the root, and stores it into its
// own and all other buffers. So each link carries the data once; if all GPUs read from the root, its link would carry
// the data once per GPU.
#include "base/abi.hpp"
#include "coll/device/buffers.hpp"
#include "coll/device/parts.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

using device::DeviceBuffers;

constexpr Count kGrain = 4096;  // bytes

Status start(const Call& call, DeviceBuffers& buffers) {
  if (!buffers.whole_everywhere(call)) return buffers.fetch(call);
  const DeviceBuffers::Part part = DeviceBuffers::own_part(call, call.root);
  if (part.index < 0) return kOk;
  const auto bytes = static_cast<Count>(call.recv.all().packed);
  layout::device::Reduction copy;
  device::take_part(copy, bytes, kGrain, part);
  for (int i = 0; i < call.size(); ++i) {
    const int rank = (call.rank() + i) % call.size();
    DeviceBuffers::PeerPointers pointers;
    HR_TRY(buffers.peer_pointers(call, rank, &pointers));
    if (rank == call.root) {
      copy.inputs[copy.ninputs++] = pointers.recv;
    } else {
      copy.outputs[copy.noutputs++] = pointers.recv;
    }
  }
  return buffers.work().reduce(buffers.near(), *layout::predefined_op(abi::kReplace),
                               *layout::predefined_type(abi::kByte), copy);
}

Task run(const Call& call) { return DeviceBuffers::execute(call, &start); }

bool probe(const Query& query) noexcept { return on_devices(query) && query.ranks <= layout::device::kMaxReduceSides; }

}  // namespace

const Algorithm bcast_device_push = {"device_push", serves(Operation::kBcast), &probe, &run, Sharing::kFlagLines, true};

}  // namespace hr::coll
