// Clock: determines whether MPI calls order an access of one process before an access of another process.
//
// The checker uses vector clocks. Every process counts its releases: messages, collectives, posts and completes, from
// which others may learn its clock. Each release carries the sender's vector of counts. An access that was complete at
// count c of its process happens before everything that a process does after learning of c. Blocking collectives count
// as barriers, because the checker makes them barriers. An order that cannot be followed (polling of memory, MPI_Test
// of a non-blocking collective, messages that the checker does not see) makes a process unsure: its accesses are not
// checked until all processes of the job have synchronised, which begins a new phase. So too much order may be assumed,
// but never too little.
//
// Internal to check/. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hr::check {

using Counts = std::vector<std::uint32_t>;  // indexed by process

// A point in time in this process.
struct Moment {
  std::shared_ptr<const Counts> known;
  std::uint32_t phase = 0;
  bool unsure = false;
  bool locked = false;  // true once a window has been locked by this process, or by one whose clock it has learnt

  bool operator==(const Moment&) const = default;
};

// True if the checker follows the order of accesses; false in a job of one process, or of too many processes.
[[nodiscard]] bool follows_order();
[[nodiscard]] Moment moment();
[[nodiscard]] std::uint32_t own_count();

// Appends this process's clock to a message and begins the next count. Accesses that are complete now are ordered
// before everything after the message's arrival.
void release(std::vector<std::byte>& message);
// Merges the clock of a received message into this process's. If the bytes are not a clock, the order is lost.
void learn(std::span<const std::byte> clock);
// Merges `clock` into `into`, for processes that forward clocks. `into` may be empty.
void join(std::vector<std::byte>& into, std::span<const std::byte> clock);
[[nodiscard]] std::size_t clock_bytes();

void lose_order();
void note_lock();
// Called when all processes of the job have synchronised.
void begin_phase();

}  // namespace hr::check
