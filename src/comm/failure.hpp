// Failure of members (user-level failure mitigation): the failed members of a communicator, those acknowledged by the
// program, and revoking a communicator.
//
// A process that has failed (p2p/process_failure.hpp) is a failed member of every communicator that it is in. The
// failed members of a communicator have an order, that in which this process learned of them, so that "the first n"
// means the same later.
//
// A revoked communicator can no longer be used for communication, at any of its members: the message is passed on by
// every member that gets it, so that it reaches all survivors even if the one that revoked fails meanwhile.
// Operations under way on it end with MPIX_ERR_REVOKED, and calls that communicate do not find its handle
// (ObjectKind::kRevokedCommunicator), so that calls on others cost nothing more. Agreement and shrinking
// (consensus.hpp, shrink.hpp) still work. Threads: library lock.
#pragma once

#include "comm/communicator.hpp"

namespace hr::comm {

void revoke(Communicator& comm);
[[nodiscard]] inline bool is_revoked(const Communicator& comm) noexcept {
  return comm.is(ObjectKind::kRevokedCommunicator);
}
// Returns MPIX_ERR_REVOKED, with its text.
Status revoked_error();
// Called for every communicator that was revoked, here or elsewhere; for the tables of predefined handles.
void on_revoked(void (*function)(Communicator& comm)) noexcept;

// Return members of both groups of an intercommunicator, in order of their failures. null: no room.
[[nodiscard]] Ref<Group> failed_members(const Communicator& comm);
[[nodiscard]] Ref<Group> acknowledged_members(const Communicator& comm);
[[nodiscard]] bool is_member(const Communicator& comm, int proc) noexcept;
// Acknowledges the first `count` of the failed members (including those acknowledged before); returns the number that
// is acknowledged then.
int acknowledge(Communicator& comm, int count);

// --- internal to comm/ ---
// Revokes a communicator that has just been made, if a message that revokes it has come before.
void apply_early_revocation(Communicator& comm);
// Answer for p2p::ContextMembers.
[[nodiscard]] int missing_from(std::uint32_t context);
[[nodiscard]] int acknowledged_on(std::uint32_t context);
// Returns the communicator of a context, revoked or not; null: there is none.
[[nodiscard]] Communicator* communicator_of(std::uint32_t context);
void begin_failure_handling();

}  // namespace hr::comm
