// Process failure: processes that can no longer be reached, contexts that have ended, and all operations that would
// wait for them forever.
//
// A process fails permanently: its transport reports the failure (Handlers::failed), or an answer to it cannot be sent.
// From then on nothing is sent to it, and its late messages are ignored (receive.cpp). In the next round of progress,
// the following end with MPIX_ERR_PROC_FAILED and an error text that names the process: sends to it, receives that had
// matched one of its messages, receives and probes that name it, receives and probes from any source if no other
// process is left that could send, and waits for words in memory that depend on it (task.hpp, When). Copies in progress
// on a device or in the system are completed first.
//
// While other possible senders are left, blocking receives and probes from any source end with the error until the
// program has acknowledged the failure (ContextMembers::acknowledged). A receive with a request is interrupted: it
// stays posted, and each wait for it reports MPIX_ERR_PROC_FAILED_PENDING, until the failure is acknowledged.
//
// The messages of a collective operation (ContextMembers::missing) end for all members when a member fails, whatever
// their source or target: otherwise members that wait for each other would wait forever once one of them has given up.
//
// The layers above end a context (a communicator that is revoked): its posted receives, sends that have not left and
// waits end with the error given, and so does every later receive and send that creates a request. The layers above
// also ensure that no short send starts.
//
// A send that its receiver may have matched is recalled: the receiver is asked to drop the message unless a receive has
// matched it (wire::Kind::kCancel), and only an unmatched send ends.
//
// Cost without failures: none in sends and receives, one load per round in waits for anything except requests.
// Threads: library lock.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "p2p/p2p.hpp"

namespace hr::p2p {

struct Peer;

// Marks a process as failed. May be called during a delivery or a transport's call, as nothing ends before the next
// round. `why`: the recorded detail is its error text.
void mark_failed(int proc, Status why);
[[nodiscard]] bool has_failed(int proc) noexcept;
// Returns MPIX_ERR_PROC_FAILED, with its error text.
Status failure_error(int proc);
// Returns all failed processes, in the order in which this process learned of them. The list only grows.
[[nodiscard]] std::span<const int> failed_processes() noexcept;
// Ends everything that depends on a failed process and is not held by a pending copy.
void fail_pending(Peer& peer);

// Ends a context. `why`: the recorded detail is its error text.
void end_context(std::uint32_t context, Status why);

// Resumes interrupted receives of this context after the program has acknowledged failures.
void resume_interrupted(std::uint32_t context);
// True if the receive is still posted although it is reported as complete, with the error in Request::completion_.
[[nodiscard]] inline bool is_interrupted(const Request& request) noexcept {
  return request.phase_ == Request::Phase::kPosted && request.complete();
}

// Returns kOk while a message that matches `wanted` may still arrive, else the reason why it cannot;
// MPIX_ERR_PROC_FAILED_PENDING if the wait can continue once the failure is acknowledged.
Status can_complete(const Envelope& wanted);
// can_complete() for calls that do not stay posted: returns MPIX_ERR_PROC_FAILED in place of the pending error.
Status can_complete_unposted(const Envelope& wanted);
// Returns kOk, or the reason why nothing may be sent on this context.
Status may_send(std::uint32_t context);
// Returns kOk while waits that depend on all processes of this context can complete, else the reason why they cannot.
Status can_complete(std::uint32_t context);

}  // namespace hr::p2p
