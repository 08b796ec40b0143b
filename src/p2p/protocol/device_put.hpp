// Device put: a message from pinned host memory to a GPU on the node. The receiver answers the ready-to-send message
// with its view; the sender maps that memory and a copy engine stores the data there.
//
// Order: the receiver's work on its default stream must be done before its buffer is written; if it is not, another
// protocol handles the message. If the sender cannot map the memory, the transport moves the data. Progress: a hook
// polls the copies. No function here waits. Owner: the table in device_put.cpp, until everything in it is complete.
// Threads: library lock.
#pragma once

#include <cstddef>

#include "p2p/core/engine.hpp"

namespace hr::p2p::device_put {

// True if the ready-to-send message of this view may state that the sender can store the data.
[[nodiscard]] bool serves(const layout::View& data) noexcept;
}  // namespace hr::p2p::device_put
