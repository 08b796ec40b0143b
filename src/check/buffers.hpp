// Buffers: what the program must not do with a buffer while an operation uses it (MPI 5.0 section 3.7.2): change what
// is being sent, or use what is being received. Internal to check/. Threads: library lock.
#pragma once

#include <vector>

#include "check/call.hpp"
#include "coll/call.hpp"

namespace hr::check {

// The buffers of a collective operation: become the call's. Errors: as of other calls.
Status look_at_buffers(Call& call, const coll::Call& operation);

}  // namespace hr::check
