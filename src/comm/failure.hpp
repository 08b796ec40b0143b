// Failure of members (user-level failure mitigation): who of a communicator is lost, what the program has acknowledged
// of it, and revoking a communicator.
//
// A process that is lost (p2p/loss.hpp) is a failed member of every communicator that it is in. The failed members of a
// communicator have an order, that in which this process learned of them, so that "the first n" means the same later.
//
// A revoked communicator is of no use for communication any more, at any of its members: the notice is passed on by
// everyone who gets it, so that it reaches all who are left also when the one who revoked is lost meanwhile. What is
// under way on it ends with MPIX_ERR_REVOKED, and calls that communicate do not find its handle
// (ObjectKind::kRevokedCommunicator), which costs those on others nothing. Agreement and shrinking (consensus.hpp,
// shrink.hpp) still work.
// Threads: library lock.
#pragma once

#include "comm/communicator.hpp"

namespace hr::comm {

void revoke(Communicator& comm);
[[nodiscard]] inline bool is_revoked(const Communicator& comm) noexcept {
  return comm.is(ObjectKind::kRevokedCommunicator);
}
// MPIX_ERR_REVOKED, with its text.
Status revoked_error();
// Called for every communicator that was revoked, here or elsewhere; for the tables of predefined handles.
void on_revoked(void (*function)(Communicator& comm)) noexcept;

// Members of both groups of an intercommunicator, in order of their losses. null: no room.
[[nodiscard]] Ref<Group> failed_members(const Communicator& comm);
[[nodiscard]] Ref<Group> acknowledged_members(const Communicator& comm);
[[nodiscard]] bool is_member(const Communicator& comm, int proc) noexcept;
// Acknowledges the first `count` of the failed members (those acknowledged before count); how many are then.
int acknowledge(Communicator& comm, int count);

// --- internal to comm/ ---
// Revokes a communicator that has just been made, if a notice for it has come before.
void meet_early_revocation(Communicator& comm);
// Answers for p2p::ContextMembers.
[[nodiscard]] int missing_from(std::uint32_t context);
[[nodiscard]] int acknowledged_on(std::uint32_t context);
// The communicator of a context, revoked or not; null: there is none.
[[nodiscard]] Communicator* communicator_of(std::uint32_t context);
void begin_failure_handling();

}  // namespace hr::comm
