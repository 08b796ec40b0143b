// Channels (Transport::make_channel()) as the transports see them.
//
// Owner: process-wide. Threads: library lock.
#pragma once

namespace hr::transport::network {

// Set by the layer above: the function that makes a channel to which a process connects, unless this process does not
// offer it; null: none is made. It is called during rounds of progress.
inline void (*channel_maker)(int from, int number) = nullptr;
// Likewise the function that makes a round of progress on all channels, for a transport that waits for the other
// processes of the job in its finalize(): they may still cancel messages to this one, or ask for their data.
inline void (*poll_channels)() = nullptr;

}  // namespace hr::transport::network
