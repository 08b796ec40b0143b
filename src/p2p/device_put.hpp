// Device put: a message between the memories of GPUs of a node, moved by the sender's GPU. The sender announces its
// view (device_get.hpp), the receiver answers with its own, and the sender copies and says so. Stores cross a link
// faster than loads, and the sender's work is ordered after its program's default stream without asking; so this serves
// contiguous data and long runs.
//
// Order on the receiving side: what its program has put on the default stream before the receive must be done before
// the data arrives. That is looked at when the receive is posted, and otherwise before the answer.
// Owner: the tables in device_put.cpp, until everything in them is complete. Threads: library lock.
#pragma once

#include <cstdint>

#include "p2p/engine.hpp"

namespace hr::p2p::device_put {

// A receive into device memory was posted and no message is there yet.
void posted(Request& receive);
// kPut for a send of this process.
void arrive_put(int from_proc, Request& send, const std::byte* payload, std::size_t bytes);
// kPutEnd for a receive of this process; of a failure, the text of its error.
void arrive_end(int from_proc, Request& receive, std::uint64_t result, const std::byte* why, std::size_t bytes);
// Forgets everything; nothing is under way any more.
void finalize();

}  // namespace hr::p2p::device_put
