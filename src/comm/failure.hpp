// Failure of members (user-level failure mitigation): the failed members of a communicator, those that the program has
// acknowledged, and revocation of a communicator.
//
// A process that has failed (p2p/process_failure.hpp) is a failed member of every communicator that contains it. The
// failed members of a communicator are ordered by when this process learned of their failures, so that "the first n"
// keeps its meaning.
//
// A revoked communicator can no longer be used for communication by any of its members. Every member that receives the
// revocation message forwards it, so that the message reaches all survivors even if the process that revoked the
// communicator fails meanwhile.
// Pending operations on it end with MPIX_ERR_REVOKED. Calls that communicate do not find its handle
// (ObjectKind::kRevokedCommunicator), so that calls on other communicators have no extra cost. Agreement and shrinking
// (consensus.hpp, shrink.hpp) still work. Threads: library lock.
#pragma once

#include "comm/communicator.hpp"

namespace hr::comm {

void revoke(Communicator& comm);
[[nodiscard]] inline bool is_revoked(const Communicator& comm) noexcept {
  return comm.is(ObjectKind::kRevokedCommunicator);
}
// Returns MPIX_ERR_REVOKED, with an error message.
Status revoked_error();
// Sets a function that is called for every communicator that is revoked, by this process or another; for the tables of
// predefined handles.
void on_revoked(void (*function)(Communicator& comm)) noexcept;

// Return members (of both groups of an intercommunicator) in the order of their failures; null if there is no memory.
[[nodiscard]] Ref<Group> failed_members(const Communicator& comm);
[[nodiscard]] Ref<Group> acknowledged_members(const Communicator& comm);
[[nodiscard]] bool is_member(const Communicator& comm, int proc) noexcept;
// Acknowledges the first `count` failed members (including those acknowledged before); returns the number of members
// that are then acknowledged.
int acknowledge(Communicator& comm, int count);

// --- Internal to comm/ ---
// Revokes a communicator that has just been created, if a message that revokes it has already arrived.
void apply_early_revocation(Communicator& comm);
// Functions for p2p::ContextMembers.
[[nodiscard]] int missing_from(std::uint32_t context);
[[nodiscard]] int acknowledged_on(std::uint32_t context);
// Returns the communicator of a context, revoked or not; null if there is none.
[[nodiscard]] Communicator* communicator_of(std::uint32_t context);
void begin_failure_handling();

}  // namespace hr::comm
