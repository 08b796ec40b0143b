// Contexts: numbers that keep the messages of different communicators apart (MPI 5.0 section 7.2.2).
//
// A process keeps a mask of the numbers that are free here. The members of a new communicator AND their masks and take
// the lowest number that is free on all of them.
//
// Two agreements that one process takes part in at the same time (threads; MPI_Comm_idup) could choose the same number.
// So after the choice every member tries to reserve the number and the members AND their success; if it fails somewhere
// they start again, with a choice that depends on the agreement, so that two of them do not collide for ever. No member
// holds anything while it waits for a first round: no order of agreements can deadlock. The second round is left out if
// every member is sure that it has no other agreement under way or to come meanwhile (a blocking call of a program
// without MPI_THREAD_MULTIPLE): the common case costs one reduction.
//
// Owner of a number: the communicator; its destructor gives it back. Threads: library lock.
#pragma once

#include <cstdint>

#include "comm/agree.hpp"

namespace hr::comm {

// Numbers of the contexts that exist from the start (times kContextSpacing: the contexts).
inline constexpr std::uint32_t kBootstrapNumber = 0;  // agreements without a parent communicator
inline constexpr std::uint32_t kWorldNumber = 1;
inline constexpr std::uint32_t kSelfNumber = 2;

struct Agreement {
  Members members;
  // Two sets of members that are joined by their leaders (MPI_Intercomm_create); remote_leader < 0: one set.
  int leader = 0;          // index in members
  int remote_leader = -1;  // process
  std::uint32_t leader_context = 0;
  int leader_tag = 0;
  bool takes = true;     // false: takes part, but will not be in the new communicator
  bool blocking = true;  // nothing else runs in this process's library until it is over
};

// Agrees on a context. *context: a multiple of kContextSpacing, the same on all members. It belongs to the caller if it
// takes it. Errors: MPI_ERR_OTHER if no number is free on all members; those of p2p.
p2p::Task agree_on_context(Agreement agreement, std::uint32_t* context);

// Releases a context. Those that exist from the start stay taken.
void release_context(std::uint32_t context) noexcept;
// Does the same after a while: once so many later ones have been released this way that others no longer ask about it
// (consensus.hpp).
void rest_context(std::uint32_t context);
// Takes a context that a communicator of an earlier use of MPI has.
void keep_context(std::uint32_t context);
// Number of numbers taken by this process; for tests and leak reports.
[[nodiscard]] int contexts_in_use() noexcept;

}  // namespace hr::comm
