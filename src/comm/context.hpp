// Contexts: numbers that separate the messages of different communicators (MPI 5.0 section 7.2.2).
//
// Each process keeps a mask of its free numbers. The members of a new communicator combine their masks with AND, and
// choose the lowest number that is free on all of them.
//
// Two agreements in which a process takes part concurrently (threads; MPI_Comm_idup) could choose the same number.
// So after the choice, every member tries to reserve the number, and the members combine their success with AND. If a
// reservation failed, they start again, with a choice that depends on the agreement, so that two agreements do not
// collide forever. No member holds a reservation while it waits for a first round, so no order of agreements can
// deadlock. The second round is omitted if no member can have another agreement in progress meanwhile (a blocking call
// of a program without MPI_THREAD_MULTIPLE), so the common case costs one reduction.
//
// Owner of a number: the communicator; its destructor releases it. Threads: library lock.
#pragma once

#include <cstdint>

#include "comm/agree.hpp"

namespace hr::comm {

// Numbers of the contexts that exist from the start; the context is the number times kContextSpacing.
inline constexpr std::uint32_t kBootstrapNumber = 0;  // agreements without a parent communicator
inline constexpr std::uint32_t kWorldNumber = 1;
inline constexpr std::uint32_t kSelfNumber = 2;

struct Agreement {
  Members members;
  // For two sets of members whose leaders connect them (MPI_Intercomm_create). remote_leader < 0: there is only one
  // set.
  int leader = 0;          // index in members
  int remote_leader = -1;  // process
  std::uint32_t leader_context = 0;
  int leader_tag = 0;
  bool takes = true;             // false if this process takes part without becoming a member of the new communicator
  bool blocking = true;          // the calling thread makes no other MPI call meanwhile
  std::uint32_t assertions = 0;  // those of this process (enum Assertion)
};

// Agrees on a context. *context: a multiple of kContextSpacing, the same on all members. The caller owns it if
// agreement.takes is true. *asserted, unless null: the assertions that all processes with `takes` have made; it is set
// before *context. Errors: MPI_ERR_OTHER if no number is free on all members; those of p2p.
p2p::Task agree_on_context(Agreement agreement, std::uint32_t* context, std::uint32_t* asserted = nullptr);

// Releases a context. Contexts that exist from the start stay taken.
void release_context(std::uint32_t context) noexcept;
// Defers the release of the context of a communicator that has had consensus operations (consensus.hpp), because other
// members may still send messages of these operations. The context is released once enough later contexts have been
// deferred.
void rest_context(std::uint32_t context);
// Marks as taken the context of a communicator that remains from an earlier use of MPI.
void keep_context(std::uint32_t context);
// Returns the number of context numbers that this process has taken; for tests and leak reports.
[[nodiscard]] int contexts_in_use() noexcept;

}  // namespace hr::comm
