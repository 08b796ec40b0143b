// Single copy against stream: which is faster here is measured, not assumed (virtual machines pay dearly for reading
// another process's memory, other machines gain by it).
//
// For each size class (a power of two) the first kTrials transfers go each way in turn; after that the faster one is
// used. Both rates are the best seen. Owner: process-wide. Threads: library lock.
#pragma once

#include "p2p/rendezvous.hpp"

namespace hr::p2p::single_copy {

// Modelled seconds of streaming this message; finite for every message.
double stream_seconds(const Announcement& announced, const Request& receive);
// The time between the two is the measure of a stream; a receive that did not begin with the first is not measured.
void stream_begins(Request& receive);
void stream_ends(Request& receive);

}  // namespace hr::p2p::single_copy
