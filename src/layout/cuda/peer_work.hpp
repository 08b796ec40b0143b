// Work of collectives on the buffers of several processes: maps them, then copies and combines between them by this
// process's GPU.
//
// Owner: both classes belong to the operation that uses them and stay until the work is done. Threads: library lock.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "layout/cuda/reduce.hpp"
#include "layout/cuda/side.hpp"
#include "layout/view.hpp"
#include "mem/cuda/ipc.hpp"
#include "mem/cuda/work_event.hpp"

namespace hr::layout::cuda {

// Peers' allocations as one context sees them; pinned while this lives. The context is that of `near`.
class PeerMappings {
 public:
  PeerMappings() = default;
  ~PeerMappings() { release(); }
  PeerMappings(const PeerMappings&) = delete;
  PeerMappings& operator=(const PeerMappings&) = delete;

  // *moved_by: added to an address in an allocation of `process`, gives the address for this process's GPU.
  // MPI_ERR_UNSUPPORTED_OPERATION: it cannot be mapped.
  Status map(const mem::Location& near, int process, const mem::cuda::Export& allocation, std::uint64_t* moved_by);
  void release() noexcept;

 private:
  std::vector<mem::cuda::Mapping*> pinned_;
};

// Work given to streams of the context of `near`, to be polled.
class PeerWork {
 public:
  // One piece: the first `bytes` packed bytes of a side that `near` reaches, into a view on `near`.
  struct Move {
    SideShape from;
    View to;
    std::size_t bytes = 0;
  };
  // Few launches: long contiguous pieces go by copy engine, and so do one or two alone; the others share kernels.
  Status move(const mem::Location& near, std::span<const Move> moves);
  // MPI_ERR_UNSUPPORTED_OPERATION, and nothing has happened, if there is no kernel.
  Status reduce(const mem::Location& near, const Op& op, const Datatype& type, const Reduction& reduction);
  // True if there are kernels for reduce() at all.
  [[nodiscard]] static bool can_reduce(const mem::Location& near, const Op& op, const Datatype& type);

  // *done: all of it is done. The first failure is the error; everything has ended then, too.
  Status poll(bool* done);

 private:
  // Copies on different lanes run side by side.
  static constexpr int kCopyStreams = mem::cuda::Context::kCopyStreams;
  Status start(mem::cuda::Context& context, std::span<const Move> moves, bool (&used)[kCopyStreams]);

  mem::cuda::WorkEvent work_events_[kCopyStreams];
};

}  // namespace hr::layout::cuda
