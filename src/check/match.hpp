// Signatures of messages: compares a send's with that expected by the receive that it meets, and notes other facts when
// a message meets its receive. Internal to check/. Threads: library lock.
//
// Before a message the sender tells its receiver the signature (Word::kSignature): messages between two processes with
// equal context and tag meet their receives in the order they were sent, and so do the signatures.
#pragma once

#include <string>
#include <vector>

#include "check/operations.hpp"

namespace hr::check {

class Call;

// Returns messages that have come and met no receive: "1 message of rank 0 with tag 3 of MPI_COMM_WORLD (...)".
std::vector<std::string> messages_without_receive();

// Called when a persistent send is about to be started.
void tell_signature(const Call& call, const Operation& send);

}  // namespace hr::check
