// ChunkedCopy: one long contiguous copy in chunks of equal length, each of which starts when its source is ready.
//
// The chunks are copied in order, at most kInFlight at a time, on the copy streams of the target's context in turn: a
// stream idles for a microsecond between two copies, while the other one copies.
//
// Owner: the operation; it must exist until idle(). Threads: library lock. Nothing here waits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "mem/cuda/work_event.hpp"

namespace hr::layout::cuda {

class ChunkedCopy {
 public:
  // From addresses that the device of `near` can access; `bytes` and `chunk` > 0, in bytes.
  ChunkedCopy(const mem::Location& near, mem::cuda::DeviceAddress to, mem::cuda::DeviceAddress from, std::size_t bytes,
              std::size_t chunk) noexcept
      : near_(near), to_(to), from_(from), bytes_(bytes), chunk_(chunk) {}

  [[nodiscard]] std::uint64_t chunks() const noexcept { return (bytes_ + chunk_ - 1) / chunk_; }
  // Number of chunks that are in place, visible to all. They are the first ones.
  [[nodiscard]] std::uint64_t done() const noexcept { return done_; }
  // True if no copy is in flight.
  [[nodiscard]] bool idle() const noexcept { return started_ == done_; }

  // Notes the copies that are done, and starts others; the first `ready` chunks of the source may be read. After an
  // error it starts none.
  Status advance(std::uint64_t ready);

 private:
  static constexpr std::uint64_t kInFlight = 8;
  Status start(std::uint64_t ready);

  mem::Location near_;
  mem::cuda::DeviceAddress to_;
  mem::cuda::DeviceAddress from_;
  std::size_t bytes_;
  std::size_t chunk_;
  std::uint64_t started_ = 0;
  std::uint64_t done_ = 0;
  Status status_ = kOk;
  mem::cuda::WorkEvent work_events_[kInFlight];
};

}  // namespace hr::layout::cuda
