// Loss: processes that cannot be reached any more, contexts that have ended, and what would wait for them for ever.
//
// A process is lost once, for good: its transport says so (Upcalls::lost), or an answer to it cannot be sent. From then
// on nothing is sent to it, and what comes from it late finds nothing (receive.cpp). The next round of progress ends
// with MPI_ERR_PROC_ABORTED, and a text that names it: sends to it, receives that had met a message of it, receives and
// probes that name it, receives and probes from any source when no other process is left that could send, and waits
// for words in memory that depend on it (task.hpp, When). What a device or the system is copying meanwhile ends first.
//
// A context is ended by the layers above (a communicator that is revoked): its posted receives, sends that have not
// left and waits end with the error given, and so does every later receive. Sends that wait for their receivers end
// when those end the context on their side. That no send starts is the affair of the layers above.
//
// The cost where nothing ends: none in sends and receives, one load a round in waits that are not for requests.
// Threads: library lock.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "p2p/p2p.hpp"

namespace hr::p2p {

struct Peer;

// Also from within a delivery or a call of a transport: nothing ends before the next round. `why`: its text is the
// recorded detail.
void lose(int proc, Status why);
[[nodiscard]] bool is_lost(int proc) noexcept;
// MPI_ERR_PROC_ABORTED, with its text.
Status lost_error(int proc);
// Ends what depends on a process that is lost and is not held by a copy under way.
void end_lost(Peer& peer);

// `why`: its text is the recorded detail.
void end_context(std::uint32_t context, Status why);

// Whether a wait for such a message has come to nothing: kOk, or why it has.
Status hopeless(const Envelope& wanted);
// The same of a wait for anything that all processes of this context take part in.
Status hopeless(std::uint32_t context);

}  // namespace hr::p2p
