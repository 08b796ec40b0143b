// Process barrier: a memory barrier in all processes of this machine that have registered for it (membarrier). The
// frequent side of a protocol then needs no fence, and the rare side bears the cost of both.
//
// Guarantee of barrier(), once it has returned, for each registered process: either the other process sees this one's
// earlier stores, or this one's later loads see the other's earlier stores. Threads: any.
#pragma once

namespace hr::process_barrier {

// Registers this process; false if the system has no such barrier. May be called repeatedly.
bool register_this_process() noexcept;
// Executes the barrier; false if it has failed.
bool barrier() noexcept;

}  // namespace hr::process_barrier
