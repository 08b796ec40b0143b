// Clock: which accesses of one process come before those of another, as far as calls of MPI order them.
//
// Every process counts its releases: messages, collectives, posts and completes that others may learn from. Each of
// these carries the sender's vector of counts. An access that was complete at count c of its process comes before
// whatever happens where c of that process is known. Blocking collectives pass for barriers, as the checker makes them
// such. Orders that cannot be followed (polling of memory, MPI_Test of a non-blocking collective, messages that are not
// told) make a process unsure: nothing is said of its accesses until all processes of the job have met, which begins a
// new phase. So an order too many may be assumed, and none too few.
//
// Internal to check/. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hr::check {

using Counts = std::vector<std::uint32_t>;  // by process

// When something happens at this process.
struct Moment {
  std::shared_ptr<const Counts> known;
  std::uint32_t phase = 0;
  bool unsure = false;
  bool locked = false;  // it comes after a lock of a window, its own or one that it was told of

  bool operator==(const Moment&) const = default;
};

// False: one process only, or too many.
[[nodiscard]] bool follows_order();
[[nodiscard]] Moment moment();
[[nodiscard]] std::uint32_t own_count();

// A message that others learn from: appends what this process knows. What is complete before is known there.
void release(std::vector<std::byte>& message);
// The other end of it. Bytes that are no such thing: the order is lost.
void learn(std::span<const std::byte> clock);
// Makes `into` know what both do; for those who pass it on. Empty: nothing is known yet.
void join(std::vector<std::byte>& into, std::span<const std::byte> clock);
[[nodiscard]] std::size_t clock_bytes();

void lose_order();
void note_lock();
// All processes of the job have met.
void begin_phase();

}  // namespace hr::check
