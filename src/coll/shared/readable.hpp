// Is reading another process's memory faster than two copies through shared memory? That depends on the machine (a
// virtual one may pay dearly for each page), so it is measured: once for each communicator, when it opens its slots.
#pragma once

#include "comm/agree.hpp"

namespace hr::coll::shared {

// All members call it; *verdict becomes 1 for all when every member can read the next one's memory and finds that
// faster, else 0. `bytes` of this process's slots are written, as many of the next one's read.
// The knob shm_single_copy decides without measuring where it is on or off.
p2p::Task try_reading(comm::Members members, std::byte* own_slot, const std::byte* next_slot, std::size_t bytes,
                      std::uint64_t* verdict);

}  // namespace hr::coll::shared
