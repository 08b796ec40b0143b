// Channels (Transport::make_channel()) as the transports see them.
//
// Owner: process-wide. Threads: library lock.
#pragma once

namespace hr::transport::network {

// Set by the layer above: makes the channel to which another process connects, if this process offers that channel.
// Null: no channel is made. Called during rounds of progress.
inline void (*channel_maker)(int from, int number) = nullptr;
// Set by the layer above: makes a round of progress on all channels. A transport calls it while it waits for the other
// processes of the job in its finalize(), because they may still cancel messages to this process, or ask it for data.
inline void (*poll_channels)() = nullptr;

}  // namespace hr::transport::network
