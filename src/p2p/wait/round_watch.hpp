// RoundWatch: a function of a layer above that is called in each round of progress, and never counts as progress.
//
// It is not a hook (progress.hpp): waits sleep as usual, and a progress thread is not woken for it, so that it costs no
// more than the call. Like FailureWatch, it is a transport that reaches no process. It may send. Valid between init()
// and finalize(); one function at a time. Threads: library lock.
#pragma once

namespace hr::p2p {

void watch_rounds(void (*function)());
void unwatch_rounds();

// Call whenever the list of transports has changed (engine.hpp).
void list_round_watch();

}  // namespace hr::p2p
