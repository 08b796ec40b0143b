// Progress: how much of an operation the GPU of each process has done, for operations whose steps wait for one another.
//
// A word of each process in the shared segment holds the operation's sequence number and a count; the process writes it
// (release) after the data is in place, and others read it (acquire). Threads: library lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "coll/call.hpp"
#include "coll/shared/segment.hpp"

namespace hr::coll::device {

struct Progress {
  static constexpr unsigned kCountBits = 20;
  static constexpr std::uint64_t kFailed = (std::uint64_t{1} << kCountBits) - 1;

  // Publishes this process's count, which is at most kFailed.
  static void publish(const Call& call, std::uint64_t count) noexcept {
    word(call, call.rank()).store((call.sequence_number + 1) << kCountBits | count, std::memory_order_release);
  }
  // Returns the count of a process; 0 before it has published one in this operation.
  [[nodiscard]] static std::uint64_t of(const Call& call, int rank) noexcept {
    const std::uint64_t value = word(call, rank).load(std::memory_order_acquire);
    return value >> kCountBits == call.sequence_number + 1 ? value & kFailed : 0;
  }

 private:
  static std::atomic<std::uint64_t>& word(const Call& call, int rank) noexcept {
    return call.segment->control(rank).device_progress.value;
  }
};

}  // namespace hr::coll::device
