// Transport data: messages of host memory whose data a transport moves from where it is to where it belongs.
//
// Shorter ones go unasked (Transport::send_in_place()), longer ones are announced and the receiver takes them
// (announce(), take()), straight into its buffer where it is one run of host memory, else by unpacking piece by piece.
// The send is complete when the transport has done with its data. Where it was asked to be cancelled it is not before
// the receiver has said whether a receive had met it, since for the transport taken and refused end alike. Threads:
// library lock.
#pragma once

#include "p2p/engine.hpp"

namespace hr::p2p::transport_data {

[[nodiscard]] inline bool goes_in_place(const Peer& peer, const layout::View& data) noexcept {
  return peer.caps.in_place_bytes != 0 && data.packed >= peer.caps.in_place_bytes && data.plain_host();
}
[[nodiscard]] inline bool is_kept(const Peer& peer, const layout::View& data) noexcept {
  return peer.caps.announces && data.contiguous && data.where.is_host() && data.packed != 0;
}

// As Transport::send(). `done`: complete at once, which is for the caller to say; else it is completed later.
Status send_in_place(Peer& peer, Request& send, const transport::Header& header, bool* done);
Status announce(Peer& peer, Request& send, const transport::Header& header, wire::Rts rts, bool* done);

// Sender: asks the receiver to give the message up. False: the transport does not keep it.
bool cancel(Request& send);
// Sender: the request ends another way.
void detach(Request& send);
// Receiver: the announcement is gone without a receive.
void drop(int from, const std::byte* payload, std::size_t bytes);

}  // namespace hr::p2p::transport_data
