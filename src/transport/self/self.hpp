// self: messages of a process to itself. A queue in process memory, which accepts every message.
#pragma once

#include "transport/transport.hpp"

namespace hr::transport::self {

extern const Record kRecord;

}  // namespace hr::transport::self
