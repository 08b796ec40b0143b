// Signatures of messages: what a send holds against what the receive that it meets expects. And what else is noticed
// when a message meets its receive. Internal to check/. Threads: library lock.
//
// Before a message the sender tells its receiver the signature (Word::kSignature): messages between two processes with
// equal context and tag meet their receives in the order they were sent, and so do these.
#pragma once

#include <string>
#include <vector>

#include "check/operations.hpp"

namespace hr::check {

class Call;

// Messages that have come and met no receive: "1 message of rank 0 with tag 3 of MPI_COMM_WORLD (...)".
std::vector<std::string> messages_without_receive();

// A persistent send is about to be started.
void tell_signature(const Call& call, const Operation& send);

}  // namespace hr::check
