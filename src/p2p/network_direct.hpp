// Network direct: whether the network's transport may be given device memory of this process (network_direct.cpp).
//
// Threads: library lock.
#pragma once

#include "p2p/engine.hpp"

namespace hr::p2p::network_direct {

// Sender: the announcement of such data says that the receiver may have the transport take it from where it is.
// Receiver: announced data may go there by itself, once no work of the program on it is under way.
[[nodiscard]] bool serves(const Peer& peer, const layout::View& data) noexcept;

}  // namespace hr::p2p::network_direct
