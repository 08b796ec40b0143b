// Network direct: decides whether the network's transport may get device memory of this process (network_direct.cpp).
//
// Threads: library lock.
#pragma once

#include "p2p/engine.hpp"

namespace hr::p2p::network_direct {

// Sender: true if the ready-to-send message of such data may say that the transport can take it from where it is.
// Receiver: true if the data of a rendezvous may go straight there, once no work of the program on it is pending.
[[nodiscard]] bool serves(const Peer& peer, const layout::View& data) noexcept;

}  // namespace hr::p2p::network_direct
