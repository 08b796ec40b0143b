// Channels that other hosts ask for. A connection over a network may name a channel that this process has not made yet
// (Transport::make_channel()).
//
// Owner: process-wide. Threads: library lock.
#pragma once

namespace hr::transport::network {

// Sets the function that makes a channel to which a process connects, unless this process does not offer it; null: none
// is made. It is called during rounds of progress.
inline void (*channel_maker)(int from, int number) = nullptr;

}  // namespace hr::transport::network
