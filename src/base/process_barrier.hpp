// Process barrier: a memory barrier in all processes of this machine that have registered for it (membarrier), so that
// the frequent side of a protocol needs none, and the rare side pays for both.
//
// Guarantee of barrier(), once it has returned, for each registered process: either that one sees this one's earlier
// stores, or this one's later loads see that one's earlier stores. Threads: any.
#pragma once

namespace hr::process_barrier {

// Returns false if the system has none. May be called again.
bool register_this_process() noexcept;
// Returns false if the barrier has not happened.
bool barrier() noexcept;

}  // namespace hr::process_barrier
