// Turns: progress for other processes in calls that wait for nothing, such as a message to MPI_PROC_NULL, a wait for a
// null request, or an operation that completes as soon as it starts. A program that repeats such a call until another
// process has done something would otherwise hold up the messages of that process (MPI 5.0 section 2.9).
//
// Owner: process-wide. Threads: library lock.
#pragma once

namespace hr::p2p {

inline constexpr unsigned kCallsPerTurn = 32;
inline constinit unsigned calls_to_turn = kCallsPerTurn;
// Makes a round of progress.
[[gnu::cold, gnu::noinline]] void let_others_in();

// Makes a round of progress once in kCallsPerTurn calls. The caller must leave no operation in an intermediate state
// (progress.hpp).
inline void take_turn() {
  if (--calls_to_turn == 0) [[unlikely]]
    let_others_in();
}

}  // namespace hr::p2p
