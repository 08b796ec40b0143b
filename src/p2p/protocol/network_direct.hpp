// Network direct: decides whether the network transport may be given device memory of this process
// (network_direct.cpp).
//
// Threads: library lock.
#pragma once

#include "p2p/core/engine.hpp"

namespace hr::p2p::network_direct {

// Sender: true if the ready-to-send message of this data may state that the transport can read the data in place.
// Receiver: true if the data of a rendezvous may be written directly to this memory, once the program has no pending
// work on it.
[[nodiscard]] bool serves(const Peer& peer, const layout::View& data) noexcept;

}  // namespace hr::p2p::network_direct
