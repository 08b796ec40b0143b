// Signatures of messages: what a send holds against what the receive that it meets expects. And what else is noticed
// when a message meets its receive. Internal to check/. Threads: library lock.
//
// Before a message the sender tells its receiver the signature (Word::kSignature): messages between two processes with
// equal context and tag meet their receives in the order they were sent, and so do these.
#pragma once

#include "check/operations.hpp"

namespace hr::check {

class Call;

// A persistent send is about to be started.
void tell_signature(const Call& call, const Operation& send);

}  // namespace hr::check
