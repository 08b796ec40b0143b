// Clock: which accesses of one process come before those of another, as far as calls of MPI order them.
//
// Every process counts its releases: messages, collectives, posts and completes that others may learn from. Each of
// these carries the sender's vector of counts. An access that was complete at count c of its process comes before
// everything that happens at a process that knows of c. Blocking collectives count as barriers, since the checker makes
// them barriers. Orders that cannot be followed (polling of memory, MPI_Test of a non-blocking collective, messages
// that are not reported) make a process unsure: its accesses are not judged until all processes of the job have met,
// which begins a new phase. So too much order may be assumed, but never too little.
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

// Point in time at this process.
struct Moment {
  std::shared_ptr<const Counts> known;
  std::uint32_t phase = 0;
  bool unsure = false;
  bool locked = false;  // it comes after a lock of a window, this process's or one that it was told of

  bool operator==(const Moment&) const = default;
};

// Returns false for one process only, or too many.
[[nodiscard]] bool follows_order();
[[nodiscard]] Moment moment();
[[nodiscard]] std::uint32_t own_count();

// Appends this process's knowledge to a message that others learn from. Accesses complete by then are known there.
void release(std::vector<std::byte>& message);
// Takes the clock of a message that came. Bytes that are not a clock: the order is lost.
void learn(std::span<const std::byte> clock);
// Merges both into `into`, for processes that pass it on. Empty: nothing is known yet.
void join(std::vector<std::byte>& into, std::span<const std::byte> clock);
[[nodiscard]] std::size_t clock_bytes();

void lose_order();
void note_lock();
// Called when all processes of the job have met.
void begin_phase();

}  // namespace hr::check
