// Runs a collective on device buffers with copies of the buffers in pinned host memory; copy engines move the data
// there and back. If a GPU is time-sliced among processes, this costs two copies, whereas kernels would cost a GPU
// context switch for each process (docs/adr/0020-time-sliced-gpu.md). Also used for short operations, whose data the
// resident copy kernel copies (docs/adr/0012-resident-copy-kernel.md), and for reductions without a kernel.
//
// Owner: the memory belongs to the task. Threads: library lock. Nothing blocks: the task polls its copies.
#pragma once

#include "coll/algorithm.hpp"

namespace hr::coll::device {

// For members that run time-sliced on a GPU (DeviceBuffers::time_sliced()): true if the operation is not worth a GPU
// context switch, or if its size is unknown, so that each of its messages chooses its own path. The same on all
// members.
[[nodiscard]] bool pinned_pays(const Call& call) noexcept;
// True if the operation is so short that two copies and an algorithm on the CPUs take less time than GPUs that read
// from one another, each with a kernel launch. The same on all members.
[[nodiscard]] bool short_enough_for_pinned(const Call& call) noexcept;
// True if this process's buffers can be copied: each is one view, or blocks of one dense type whose total length is
// limited.
[[nodiscard]] bool fits_pinned(const Call& call);

// Runs the algorithm on host copies of data on a device; `algorithm` and `call` outlive the task.
[[nodiscard]] p2p::Task through_pinned(const Call& call, const Algorithm* algorithm);

}  // namespace hr::coll::device
