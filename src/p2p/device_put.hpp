// Device put: the sender's part of a message whose receiver has offered its memory (device_get.hpp). The sender's GPU
// stores the data where it belongs, by one copy, and the receiver is told when that is done.
//
// Order: the copy runs on a blocking stream, after what the sender's program has put on its default stream.
// Owner: the table in device_put.cpp, until everything in it is complete. Threads: library lock.
#pragma once

#include "p2p/engine.hpp"

namespace hr::p2p::device_put {

// kPut from the receiver of a send of this process, which may have changed its mind meanwhile.
void arrive(int from_proc, Request& send, const std::byte* payload);

// Nothing is being put.
[[nodiscard]] bool idle() noexcept;
void finalize();

}  // namespace hr::p2p::device_put
