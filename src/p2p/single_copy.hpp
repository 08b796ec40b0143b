// Single copy against stream: which is faster here is measured, not assumed (virtual machines pay dearly for reading
// another process's memory, other machines gain by it).
//
// For each size class (a power of two) the two ways are compared: messages go one way for a trial, then the other way,
// twice. The faster one is used until the next comparison: after so many trials' worth of messages, four times as many,
// and so on, from the start when the choice changes; and sooner where the way in use has become slower than the other
// one was. Only what was found in one comparison decides: a machine that is slow for a while, or a process that loses
// its core, makes that way slow that is in use just then. The first messages after a change of way are none to judge
// by. A way changes, and a trial ends, when nothing is under way: a trial is one message after another in a ping-pong,
// and whole windows where many are in flight, of which those that are read end together.
//
// Two times count. Under way: from a message's announcement, or from the end of the one before it, to its own end. And
// the turn: from the end of one message of the class to the end of the next. A message that was read leaves its lines
// with the wrong core, and the program's own loads and stores fetch them back: that is not seen while the message is
// under way, but in the turn. Where the program computes for long between messages its turns tell nothing of them.
// Owner: process-wide. Threads: library lock.
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
