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

// Sends the signature of a persistent send that is about to be started.
void tell_signature(const Call& call, const Operation& send);

}  // namespace hr::check
