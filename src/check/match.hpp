// Signatures of messages: compares a send's signature with the one expected by the matching receive, and updates the
// receiving call and the clock when a message is matched. Internal to check/. Threads: library lock.
//
// The sender sends the signature of a message to the receiver before the message (Word::kSignature). Messages between
// two processes with equal context and tag are matched in the order they were sent, and so are the signatures.
#pragma once

#include <string>
#include <vector>

#include "check/operations.hpp"

namespace hr::check {

class Call;

// Describes messages that have arrived and matched no receive: "1 message of rank 0 with tag 3 of MPI_COMM_WORLD
// (...)".
std::vector<std::string> messages_without_receive();

// Sends the signature of a persistent or enqueued send that is about to be started there. Does nothing for other
// operations.
void tell_signature(const CallSite& call_site, const Operation& send);
// True if MPIX_Matchall has returned for this persistent request.
[[nodiscard]] bool is_matched(const void* request);
// Withdraws it, because the send has failed.
void take_back_signature(const Operation& send);

}  // namespace hr::check
