// Stream: the sender packs pieces into the transport while the receiver unpacks earlier ones: two copies, both sides
// at work, any layout and any kind of memory.
#include <algorithm>
#include <cstring>

#include "p2p/engine.hpp"
#include "p2p/rendezvous.hpp"
#include "p2p/single_copy.hpp"

namespace hr::p2p {
namespace {

double probe(const Announcement& announced, const Request& receive, const transport::Caps& /*caps*/) {
  return single_copy::stream_seconds(announced, receive);
}

Status begin(const Announcement& announced, Request& receive) {
  if (receive.total_ == 0) {
    send_answer(announced.from_proc, wire::answer(wire::Kind::kDone, announced.sender_cookie), nullptr);
    finish_rendezvous(receive, kOk);
    return kOk;
  }
  single_copy::stream_begins(receive);
  const wire::Cts cts{reinterpret_cast<std::uint64_t>(&receive), receive.total_};
  send_answer(announced.from_proc, wire::answer(wire::Kind::kCts, announced.sender_cookie), &cts);
  return kOk;
}

// One piece; Status::again() when there is no room.
Status push_piece(Peer& peer, Request& send) {
  const std::size_t bytes = std::min(peer.caps.chunk_bytes, send.total_ - send.offset_);
  const transport::Header header = wire::data(send.peer_cookie_, send.offset_);
  if (send.view_.plain_host()) {
    HR_TRY(peer.transport->send(peer.proc, header, send.view_.data() + send.offset_, bytes));
  } else {
    std::byte* slot = peer.transport->reserve(peer.proc, bytes);
    if (slot == nullptr) return Status::again();
    HR_TRY(layout::pack(send.view_, send.offset_, bytes, slot));
    peer.transport->commit(peer.proc, header);
  }
  send.offset_ += bytes;
  return kOk;
}

}  // namespace

const Rendezvous kStream{"stream", probe, begin};

bool push_stream(Peer& peer) {
  bool moved = false;
  while (Request* send = peer.streams.front()) {
    const Status status = push_piece(peer, *send);
    if (status.is_again()) return moved;
    moved = true;
    if (status.ok() && send->offset_ < send->total_) continue;
    peer.streams.remove(*send);
    Completion completion;
    completion.error = status;
    complete(*send, completion);
  }
  return moved;
}

void arrive_data(Request& receive, std::size_t offset, const std::byte* payload, std::size_t bytes) {
  if (receive.view_.plain_host()) {
    std::memcpy(receive.view_.data() + offset, payload, bytes);
  } else if (const Status status = layout::unpack(receive.view_, offset, bytes, payload); !status.ok()) {
    // The rest of the stream still arrives; the first error is what the receive reports.
    if (receive.completion_.error.ok()) receive.detail_ = take_detail();
    receive.completion_.error = status;
  }
  receive.offset_ += bytes;
  if (receive.offset_ < receive.total_) return;
  single_copy::stream_ends(receive);
  finish_rendezvous(receive, kOk);
}

}  // namespace hr::p2p
