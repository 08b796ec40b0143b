// Work of collectives on the buffers of several processes: maps them, then copies and combines their data with this
// process's GPU.
//
// Owner: both classes belong to the operation that uses them and must exist until the work is done. Threads: library
// lock.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "layout/device/reduce.hpp"
#include "layout/device/side.hpp"
#include "layout/view.hpp"
#include "mem/device/ipc.hpp"
#include "mem/device/work_event.hpp"

namespace hr::layout::device {

// Mappings of peers' allocations for one context, that of `near`; pinned while this object exists.
class PeerMappings {
 public:
  PeerMappings() = default;
  ~PeerMappings() { release(); }
  PeerMappings(const PeerMappings&) = delete;
  PeerMappings& operator=(const PeerMappings&) = delete;

  // Maps an allocation of `process`. *moved_by: add it to an address in that process to get the address for this
  // process's GPU. Errors: MPI_ERR_UNSUPPORTED_OPERATION if it cannot be mapped.
  Status map(const mem::Location& near, int process, const mem::device::Export& allocation, std::uint64_t* moved_by);
  void release() noexcept;

 private:
  std::vector<mem::device::Mapping*> pinned_;
};

// Work enqueued on streams of the context of `near`, to be polled.
class PeerWork {
 public:
  // One piece: moves the first `bytes` packed bytes of a side that the device of `near` can access into a view on that
  // device, or into a contiguous view that it can access.
  struct Move {
    SideShape from;
    View to;
    std::size_t bytes = 0;
  };
  // Starts the moves in few launches: copy engines move long contiguous pieces, and contiguous pieces of any length if
  // there are only one or two moves or no kernels; the others share kernels.
  Status move(const mem::Location& near, std::span<const Move> moves);
  // Errors: MPI_ERR_UNSUPPORTED_OPERATION if there is no kernel; in that case, nothing is done.
  Status reduce(const mem::Location& near, const Op& op, const Datatype& type, const Reduction& reduction);
  // True if there are kernels for reduce().
  [[nodiscard]] static bool can_reduce(const mem::Location& near, const Op& op, const Datatype& type);

  // *done: true if all work is done. Returns the first failure; even then, all work has ended.
  Status poll(bool* done);

 private:
  // Copies on different streams run concurrently.
  static constexpr int kCopyStreams = mem::device::Context::kCopyStreams;
  Status start(mem::device::Context& context, std::span<const Move> moves, bool (&used)[kCopyStreams]);

  mem::device::WorkEvent work_events_[kCopyStreams];
};

}  // namespace hr::layout::device
