// Process barrier: a memory barrier in all processes of this machine that have registered for it (membarrier), so that
// who does something often needs none, and who does the opposite seldom pays for both.
//
// After barrier() has returned, every registered process has either seen what this one stored before, or this one sees
// what that one stored before what it loads now. Threads: any.
#pragma once

namespace hr::process_barrier {

// False where the system has none. May be called again.
bool register_this_process() noexcept;
// False: it has not happened.
bool barrier() noexcept;

}  // namespace hr::process_barrier
