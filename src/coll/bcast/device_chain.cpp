// Long broadcasts by GPUs: the data travels along the ring of ranks, from the root on, in chunks. Each GPU fetches a
// chunk from its predecessor as soon as that has it, so that every link carries the data once in each direction, while
// with all readers at the root its link would carry the data once for each of them.
//
// A process publishes the number of chunks that its GPU has in place. After an error its successors get an error, too.
#include <algorithm>

#include "coll/device/buffers.hpp"
#include "coll/device/progress.hpp"
#include "coll/messages.hpp"
#include "coll/registry.hpp"
#include "coll/shared/wait.hpp"
#include "layout/cuda/chunked_copy.hpp"

namespace hr::coll {
namespace {

using device::DeviceBuffers;
using device::Progress;
using layout::cuda::ChunkedCopy;

// More chunks begin the next hop sooner, fewer leave less time between copies.
constexpr std::size_t kChunks = 32;
constexpr std::size_t kShortestChunk = std::size_t{512} << 10;
constexpr std::size_t kLongestChunk = std::size_t{8} << 20;

std::size_t chunk_of(std::size_t bytes) noexcept {
  constexpr std::size_t kGrain = 4096;
  return std::clamp((bytes / kChunks + kGrain - 1) / kGrain * kGrain, kShortestChunk, kLongestChunk);
}

// Condition (shared/wait.hpp): true once this process has all chunks, or an error and no copy in flight.
struct Link {
  const Call& call;
  ChunkedCopy& copy;
  int predecessor;
  std::uint64_t published = 0;
  Status status = kOk;

  bool operator()() {
    const std::uint64_t ready = predecessor == call.root ? copy.chunks() : Progress::of(call, predecessor);
    if (status.ok() && ready == Progress::kFailed) {
      status = fail(Errc::kOther, "%s: rank %d could not copy its part of the data", name(call.operation), predecessor);
    }
    const Status copied = copy.advance(status.ok() ? ready : 0);
    if (status.ok()) status = copied;
    const std::uint64_t reached = status.ok() ? copy.done() : Progress::kFailed;
    if (reached != published) Progress::publish(call, published = reached);
    return status.ok() ? copy.done() == copy.chunks() : copy.idle();
  }
};

Task chain(const Call& call) {
  DeviceBuffers& buffers = call.segment->device_buffers();
  if (!buffers.whole_everywhere(call)) {
    Task all_from_root = DeviceBuffers::execute(call, [](const Call& c, DeviceBuffers& b) { return b.fetch(c); });
    const Status status = co_await all_from_root;
    co_return status;
  }
  Status status = kOk;
  if (!call.is_root()) {
    const int predecessor = (call.rank() + call.size() - 1) % call.size();
    DeviceBuffers::PeerPointers from, to;
    status = buffers.peer_pointers(call, predecessor, &from);
    if (status.ok()) status = buffers.peer_pointers(call, call.rank(), &to);
    if (status.ok()) {
      const std::size_t bytes = call.recv.all().packed;
      ChunkedCopy copy(buffers.near(), to.recv, from.recv, bytes, chunk_of(bytes));
      Link link{call, copy, predecessor};
      HR_CO_UNTIL(call, link);
      status = link.status;
    } else {
      Progress::publish(call, Progress::kFailed);
    }
  }
  Task finishing = buffers.finish(call, status);
  const Status finished = co_await finishing;
  co_return finished;
}

}  // namespace

const Algorithm bcast_device_chain = {"device_chain", serves(Operation::kBcast), &on_devices,
                                      &chain,         Sharing::kFlagLines,       true};

}  // namespace hr::coll
