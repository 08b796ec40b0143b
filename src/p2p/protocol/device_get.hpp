// Device get: a message between the memories of GPUs on one node. The sender describes its view; the receiver maps the
// memory and moves the data with one copy or one kernel on its own GPU, converting between the layouts.
//
// Order: the sender's work on its default stream must be done before the data is read. If it is not, the ready-to-send
// message is sent anyway, as messages match in the order sent; the receiver then asks to be notified when that work is
// done (wire::Kind::kAsk, kReady). Progress: a hook polls the pending copies and the sends whose receivers wait for a
// kReady. No function here waits. Owner: the tables in device_get.cpp, until everything in them is complete. Threads:
// library lock.
#pragma once

#include <cstdint>

#include "layout/device/peer.hpp"
#include "p2p/core/engine.hpp"

namespace hr::p2p::device_get {

// True if the peer may fetch a message from this view.
[[nodiscard]] bool serves(const Peer& peer, const layout::View& data) noexcept;
// Describes the view for the ready-to-send message. *flags: wire::kView is added, and kPending if the data is not
// final; neither is added if the memory cannot be exported.
Status describe(const Peer& peer, Request& send, std::uint64_t* flags, layout::device::PeerView* view);
}  // namespace hr::p2p::device_get
