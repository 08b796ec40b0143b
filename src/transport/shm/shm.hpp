// shm: messages between the processes on a node through shared memory.
#pragma once

#include "transport/transport.hpp"

namespace hr::transport::shm {

extern const Record kRecord;

}  // namespace hr::transport::shm
