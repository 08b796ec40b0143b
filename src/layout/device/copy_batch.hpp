// CopyBatch: collects copies between sides and enqueues them together, in few launches.
//
// A launch takes time, and a kernel that reads from a peer takes longer still, however little it moves. So pieces for
// one reader (the blocks of an alltoallw, the faces of a neighborhood) share launches, up to kernels::kCopyBatch in
// each. Each piece gets thread blocks in proportion to its size. Owner: the caller's stack. Threads: library lock.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "layout/device/side.hpp"

namespace hr::layout::device {

class CopyBatch {
 public:
  // Launches go to `stream`, in `context`, which must be current and outlive this object.
  CopyBatch(mem::device::Context& context, mem::device::StreamHandle stream) noexcept
      : context_(context), stream_(stream) {}

  // Adds a copy of the first `bytes` packed bytes; it is launched when the batch is full, or by launch(). Errors:
  // MPI_ERR_UNSUPPORTED_OPERATION if the context has no kernels.
  Status add(const SideShape& from, const SideShape& to, std::size_t bytes);
  // Launches the copies that have been added and not yet launched.
  Status launch();

 private:
  mem::device::Context& context_;
  mem::device::StreamHandle stream_;
  unsigned count_ = 0;
  kernels::CopyBatch batch_{};
};

}  // namespace hr::layout::device
