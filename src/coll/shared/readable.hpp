// Can another process's memory be read, and is that faster than two copies through shared memory? That depends on the
// machine (a virtual one may pay dearly for each page), so it is measured: once for each communicator, when it opens
// its slots.
#pragma once

#include "coll/algorithm.hpp"
#include "comm/agree.hpp"

namespace hr::coll::shared {

// All members call it; *verdict becomes for all what the worst of them found of the next one's memory. `bytes` of this
// process's slots are written, as many of the next one's read.
// The knob shm_single_copy decides without measuring: `on` counts what is possible as asked for, `off` as impossible.
p2p::Task try_reading(comm::Members members, std::byte* own_slot, const std::byte* next_slot, std::size_t bytes,
                      Reading* verdict);

}  // namespace hr::coll::shared
