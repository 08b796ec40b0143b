// LossWatch: hears from the launcher which processes have died, where a job goes on without them.
//
// It looks in every round of progress, at one word in memory (boot/loss_board.hpp). So that rounds of other jobs do not
// get longer by it, it takes its turn among the transports that make progress, of which it is one that reaches nobody.
// Owner: the engine. Threads: library lock.
#pragma once

#include <memory>

#include "base/status.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// *out stays null where the death of a process ends the job.
Status make_loss_watch(std::unique_ptr<transport::Transport>* out);

}  // namespace hr::p2p
