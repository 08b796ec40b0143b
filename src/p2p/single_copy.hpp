// Single copy against stream: which is faster here is measured, not assumed (virtual machines pay dearly for reading
// another process's memory, other machines gain by it).
//
// For each peer and size class (a power of two) both ways are tried once, one after the other, and the faster one is
// used from then on: some forty messages each way, fewer where they are long, or that many windows where many are under
// way at once. The least sample of each way counts, since a process may lose its core in one. A way changes when no
// message of the class is under way.
//
// Two times count. Under way: from a message's announcement, or from the end of the one before it, to its own end. And
// the turn: from the end of one message of the class to the end of the next. A message that was read leaves its lines
// with the wrong core, and the program's own loads and stores fetch them back: that is not seen while the message is
// under way, but in the turn. Where the program computes for long between messages its turns tell nothing of them.
// Owner: process-wide; what is known of a peer is made at its first long message. Threads: library lock.
#pragma once

#include "p2p/rendezvous.hpp"

namespace hr::p2p::single_copy {

// What one of the ways takes a byte; infinity: not known.
struct Cost {
  double under_way;
  double turn;
};
// What a stream saves, as a part of what reading takes under way; negative where reading is the faster of the two.
[[nodiscard]] double saved_by_stream(const Cost& read, const Cost& stream) noexcept;

// A message that could be read comes this way from now on.
void begins(const Announcement& announced, Request& receive, bool reading);
// Whatever happened to it, the receive ends.
void ends(Request& receive);

}  // namespace hr::p2p::single_copy
