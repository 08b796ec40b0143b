// Loss: processes that cannot be reached any more, contexts that have ended, and what would wait for them for ever.
//
// A process is lost once, for good: its transport says so (Upcalls::lost), or an answer to it cannot be sent. From then
// on nothing is sent to it, and what comes from it late finds nothing (receive.cpp). The next round of progress ends
// with MPIX_ERR_PROC_FAILED, and a text that names it: sends to it, receives that had met a message of it, receives and
// probes that name it, receives and probes from any source when no other process is left that could send, and waits
// for words in memory that depend on it (task.hpp, When). What a device or the system is copying meanwhile ends first.
//
// From any source, where others are left: blocking receives and probes end with the error as long as the program has
// not acknowledged the loss (ContextMembers::acknowledged); a receive with a request is interrupted: it stays posted,
// and is reported with MPIX_ERR_PROC_FAILED_PENDING as often as it is waited for, until the loss is acknowledged.
//
// What belongs to a collective operation (ContextMembers::missing) ends for all members when one is lost, whomever it
// is from or to: those who wait for each other would else wait for ever once one of them has given up.
//
// A context is ended by the layers above (a communicator that is revoked): its posted receives, sends that have not
// left and waits end with the error given, and so does every later receive and send that makes a request. That no
// short send starts is the affair of the layers above.
//
// A send that its receiver may have met is called back: the receiver says whether it has (wire::Kind::kCancel), and
// only what has not been met ends.
//
// The cost where nothing ends: none in sends and receives, one load a round in waits that are not for requests.
// Threads: library lock.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "p2p/p2p.hpp"

namespace hr::p2p {

struct Peer;

// Also from within a delivery or a call of a transport: nothing ends before the next round. `why`: its text is the
// recorded detail.
void lose(int proc, Status why);
[[nodiscard]] bool is_lost(int proc) noexcept;
// MPIX_ERR_PROC_FAILED, with its text.
Status lost_error(int proc);
// All that were lost, in the order in which this process learned of it; it only grows.
[[nodiscard]] std::span<const int> losses() noexcept;
// Ends what depends on a process that is lost and is not held by a copy under way.
void end_lost(Peer& peer);

// `why`: its text is the recorded detail.
void end_context(std::uint32_t context, Status why);

// The program has acknowledged losses, of which this context has seen none before: interrupted receives go on.
void resume_interrupted(std::uint32_t context);
// The receive is still posted, though it is reported (with Request::completion_'s error).
[[nodiscard]] inline bool is_interrupted(const Request& request) noexcept {
  return request.phase_ == Request::Phase::kPosted && request.complete();
}

// Whether a wait for such a message has come to nothing: kOk, or why it has; MPIX_ERR_PROC_FAILED_PENDING where an
// acknowledgement lets it go on.
Status hopeless(const Envelope& wanted);
// The same for calls that cannot stay posted: MPIX_ERR_PROC_FAILED instead.
Status hopeless_now(const Envelope& wanted);
// Whether nothing may be sent on it any more.
Status barred(std::uint32_t context);
// Of a wait for anything that all processes of this context take part in.
Status hopeless(std::uint32_t context);

}  // namespace hr::p2p
