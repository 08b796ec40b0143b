// Single copy against stream: which is faster here is measured, not assumed (virtual machines pay dearly for reading
// another process's memory, other machines gain by it).
//
// For each size class (a power of two) the first kTrials transfers go each way in turn; after that the faster one is
// used, and the other one tried again after 8, 16, 32, ... transfers: the first streams find a ring whose pages nobody
// has touched yet. A stream counts by the best time seen, reading by the last few; nothing is read while a stream is
// timed, and a stream is timed from its first piece to its last, so that what else is under way does not count. Owner:
// process-wide. Threads: library lock.
#pragma once

#include "p2p/rendezvous.hpp"

namespace hr::p2p::single_copy {

// Modelled seconds of streaming this message; finite for every message.
double stream_seconds(const Announcement& announced, const Request& receive);
// A stream begins; it may be chosen to be timed.
void stream_begins(const Announcement& announced, const Request& receive);
// The stream of this receive is being timed: tell of each of its pieces, before it is accounted for.
[[nodiscard]] bool times(const Request& receive);
void piece_arrived(Request& receive, std::size_t bytes);
// Whatever happened to it, the receive ends.
void ends(const Request& receive);
// The data of this receive was read in so many seconds.
void read_took(const Request& receive, double seconds);

}  // namespace hr::p2p::single_copy
