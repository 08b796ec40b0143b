// Single copy against stream: which is faster here is measured, not assumed (virtual machines pay dearly for reading
// another process's memory, other machines gain by it).
//
// For each size class (a power of two) messages go one way for a trial, then the other way, twice; after that the
// faster way is used, and the other one tried again after so many transfers, four times as many, and so on: the first
// streams find a ring whose pages nobody has touched yet. A way changes when nothing is under way, so that a trial is
// one message after another in a ping-pong and a whole window where many are in flight. What counts is the time that
// something was under way: from a message's announcement, or from the end of the one before it, to its own end.
// Owner: process-wide. Threads: library lock.
#pragma once

#include "p2p/rendezvous.hpp"

namespace hr::p2p::single_copy {

// A message that could be read comes this way from now on.
void begins(const Announcement& announced, Request& receive, bool reading);
// Whatever happened to it, the receive ends.
void ends(Request& receive);

}  // namespace hr::p2p::single_copy
