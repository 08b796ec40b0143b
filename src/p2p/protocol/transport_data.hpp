// Transport data: the transport itself moves the data of a message in host memory to its destination.
//
// The receiver fetches the data (Transport::receive_rendezvous()), directly into its buffer if that is contiguous host
// memory, else unpacking it in pieces. The send is complete when the transport is done with it. A send that is being
// cancelled completes only after the receiver has answered whether a receive had matched it, because the transport ends
// the operation in the same way for received and for declined data. Threads: library lock.
#pragma once

#include "p2p/core/engine.hpp"

namespace hr::p2p::transport_data {

[[nodiscard]] inline bool is_kept(const Peer& peer, const layout::View& data) noexcept {
  return peer.caps.rendezvous && data.allows_network();
}

// Sends the ready-to-send message, like Transport::send(). *done: true if the send is complete immediately, and the
// caller must complete the request; otherwise it is completed later.
Status send_rts(Peer& peer, Request& send, const transport::Header& header, wire::Rts rts, bool* done);

// Sender: requests that the receiver drop the message. False if the transport does not keep data of this send.
bool cancel(Request& send);
// Sender: detaches the transport's data from a request that ends by other means.
void detach(Request& send);
// Receiver: declines the data of a ready-to-send message that was dropped without a receive.
void drop(int from, const std::byte* payload, std::size_t bytes);

}  // namespace hr::p2p::transport_data
