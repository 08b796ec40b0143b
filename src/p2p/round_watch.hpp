// RoundWatch: a function of a layer above that is called in each round of progress, and moves nothing.
//
// It is no hook (progress.hpp): waits sleep as long as they would, and a progress thread is not woken for it, so that
// it costs only itself. Like FailureWatch it takes its turn among the transports, as one that reaches no process.
// Between init() and finalize(); one at a time. It may send. Threads: library lock.
#pragma once

namespace hr::p2p {

void watch_rounds(void (*function)());
void unwatch_rounds();

// Call whenever the list of transports has changed (engine.hpp).
void list_round_watch();

}  // namespace hr::p2p
