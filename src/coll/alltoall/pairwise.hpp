// Exchange of some blocks of an alltoall as messages, in steps. Threads: library lock.
#pragma once

#include <vector>

#include "coll/messages.hpp"

namespace hr::coll {

// Sends the blocks to the ranks in `sends`, and receives those from the ranks in `receives`, in this process's buffers.
// The arguments outlive the task.
[[nodiscard]] Task exchange_pairwise(const Call& call, const std::vector<bool>& sends,
                                     const std::vector<bool>& receives);

}  // namespace hr::coll
