// Stream: the sender packs pieces into the transport while the receiver unpacks earlier ones. So two copies run
// concurrently, one on each side, for any layout and any kind of memory.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "p2p/core/steps.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p {
namespace {

constexpr std::size_t kLeastPiece = 4096;
constexpr std::size_t kPieceUnit = 64;

// Returns the size of a piece; even short messages are divided, so that the receiver copies one piece while the sender
// copies the next.
std::size_t piece_of(std::size_t bytes, const transport::Caps& caps) {
  const std::size_t most = std::max(kLeastPiece, caps.chunk_bytes);
  return std::min(std::clamp(bytes / 4 / kPieceUnit * kPieceUnit, kLeastPiece, most), caps.max_payload);
}

// Always applicable. The estimate counts a clear-to-send, the stream of pieces, which both sides copy concurrently, and
// a blocking copy for each piece on a device.
Estimate probe(const MessageClass& message, const transport::Caps& caps) {
  const std::size_t piece = piece_of(message.bytes, caps);
  const auto pieces = static_cast<double>((message.bytes + piece - 1) / piece);
  const int devices = int{message.from_device()} + int{message.to_device()};
  const double copies =
      devices * pieces *
      (message.time_sliced ? mem::device::costs().switch_seconds : mem::device::costs().piece_seconds);
  return {caps.latency_seconds + caps.messages().seconds(message.bytes) + copies};
}

Status begin(const ReadyToSend& rts, Request& receive) {
  if (receive.total_ == 0) {
    send_control(rts.from_proc, wire::answer(wire::Kind::kDone, rts.sender_cookie));
    finish_rendezvous(receive, kOk);
    return kOk;
  }
  const wire::Cts cts{reinterpret_cast<std::uint64_t>(&receive), receive.total_, 0, 0};
  send_control(rts.from_proc, wire::answer(wire::Kind::kCts, rts.sender_cookie), &cts, sizeof cts);
  return kOk;
}

bool deliver_data(int, Request& receive, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  const std::size_t offset = header.words[2];
  if (!lies_in(receive, offset, bytes) || bytes > missing_bytes(receive)) return false;
  Status status = kOk;
  if (receive.view_.allows_memcpy()) {
    std::memcpy(receive.view_.data() + offset, payload, bytes);
  } else {
    status = layout::unpack(receive.view_, offset, bytes, payload);
  }
  account(receive, bytes, status);
  return true;
}

constexpr Arrival kArrivals[] = {arrival_at_receive<deliver_data>(wire::Kind::kData)};

bool cleared(int from, Request& send, const wire::Cts& /*cts*/, const std::byte* /*tail*/) {
  Peer& peer = peer_of(from);
  peer.streams.push_back(send);
  mark_busy(peer);
  return true;
}

}  // namespace

extern const Rendezvous kStream;
const Rendezvous kStream{.name = "stream", .probe = probe, .begin = begin, .arrivals = kArrivals, .cleared = cleared};

Status push_piece(Peer& peer, Request& send) {
  const std::size_t bytes = std::min(piece_of(send.total_, peer.caps), send.total_ - send.offset_);
  const transport::Header header = wire::data(send.peer_cookie_, send.offset_);
  if (send.view_.allows_memcpy()) {
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

void abandon(int to_proc, const Request& send, std::size_t sent, const std::string& why) {
  struct {
    wire::Piece missing;
    char why[ControlMessage::kMaxBytes - sizeof(wire::Piece)];
  } message{{send.total_ - sent, 0, 0}, {}};
  const std::size_t length = why.copy(message.why, sizeof message.why);
  send_control(to_proc, wire::piece(0, wire::kNoChunk, send.peer_cookie_, sent), &message,
               sizeof message.missing + length);
}

bool push_stream(Peer& peer) {
  bool moved = false;
  while (Request* send = peer.streams.front()) {
    const Status status = push_piece(peer, *send);
    if (!status.ok() && takes_less(peer)) continue;
    if (status.is_again()) return moved;
    moved = true;
    if (status.ok() && send->offset_ < send->total_) continue;
    peer.streams.remove(*send);
    Completion completion;
    completion.error = status;
    if (!status.ok()) {
      std::string why = take_detail();
      abandon(peer.proc, *send, send->offset_, why);
      set_detail(std::move(why));
    }
    finish_send(*send, completion);
  }
  return moved;
}

}  // namespace hr::p2p
