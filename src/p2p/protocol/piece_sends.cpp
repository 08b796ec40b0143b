#include "p2p/protocol/piece_sends.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "mem/device/two_rows.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p {
namespace {

using layout::device::ChunkCopy;
using mem::device::TwoRows;
using Message = PieceSends::Message;
using Piece = PieceSends::Piece;

// Time without a free chunk after which the receivers that have the chunks are assumed to make no progress. Other
// messages then do not wait for the chunks.
constexpr double kStarvedSeconds = 20e-3;

void note(Message& message, Status failure) {
  if (failure.ok() || !message.failure.ok()) return;
  message.failure = failure;
  message.failure_text = take_detail();
}

bool goes_on(const Message& message) noexcept { return message.failure.ok() && !message.stopped; }

bool has_more(const Message& message) noexcept {
  return message.send->offset_ != message.send->total_ && goes_on(message);
}

// Packs with the CPU.
Status pack_rows(const layout::View& from, std::size_t offset, TwoRows rows, std::byte* chunk) {
  HR_TRY(layout::pack(from, offset, rows.width(), chunk));
  HR_TRY(layout::pack(from, offset + rows.width(), rows.width(), chunk + rows.pitch()));
  return rows.odd() ? layout::pack(from, offset + rows.bytes - 1, 1, chunk + rows.last()) : kOk;
}

// Packs the piece, or starts a device's copy.
Status pack(const Message& message, Piece& piece) {
  const layout::View& data = message.send->view_;
  const bool by_cpu = (message.way & wire::kFromDevice) == 0;
  const TwoRows two_rows{piece.bytes};
  piece.rows = (message.way & wire::kRows) != 0 && TwoRows::serves(piece.bytes) &&
               two_rows.span() <= message.chunks->chunk_bytes() && (by_cpu || data.contiguous);
  if (by_cpu) {
    piece.phase = Piece::Phase::kPacked;
    std::byte* const to = message.chunks->host(piece.chunk);
    return piece.rows ? pack_rows(data, piece.offset, two_rows, to) : layout::pack(data, piece.offset, piece.bytes, to);
  }
  const ChunkCopy::In host = piece.rows ? ChunkCopy::In::kPinnedRows : ChunkCopy::In::kPinned;
  return piece.copy.pack(data, piece.offset, piece.bytes, message.chunks->address(piece.chunk),
                         message.chunks->on_device() ? ChunkCopy::In::kDevice : host, message.proc);
}

// If receivers have held all chunks for too long, sends a piece through the transport instead; true if it was sent.
bool bypass(Message& message) {
  Request& send = *message.send;
  if (!has_more(message) || !message.pieces.empty()) return false;
  if (now_seconds() - message.chunks->moved_at() < kStarvedSeconds) return false;
  const std::size_t before = send.offset_;
  const Status status = push_piece(peer_of(message.proc), send);
  if (status.is_again()) return false;
  note(message, status);
  message.sent += send.offset_ - before;
  return true;
}

bool is_over(const Message& message) noexcept {
  if (!message.pieces.empty()) return false;
  return !message.failure.ok() || (!message.stopped && message.sent == message.send->total_);
}

void end(Message& message) {
  Completion completion;
  completion.error = message.failure;
  if (!message.failure.ok()) {
    abandon(message.proc, *message.send, message.sent, message.failure_text);
    set_detail(std::move(message.failure_text));
  }
  finish_send(*message.send, completion);
}

}  // namespace

void PieceSends::begin(Request& send, int proc, std::uint8_t way, Chunks& chunks, std::size_t piece_bytes) {
  messages_.push_back(std::make_unique<Message>(Message{&send, proc, way, &chunks, piece_bytes}));
  start_piece(*messages_.back());
}

// Starts the next piece; false if there is no further piece, or no free chunk.
bool PieceSends::start_piece(Message& message) {
  Request& send = *message.send;
  std::uint32_t chunk = 0;
  if (!has_more(message) || !message.chunks->take(&chunk)) return false;
  Piece& piece = message.pieces.emplace_back();
  piece.chunk = chunk;
  piece.offset = send.offset_;
  piece.bytes = std::min(message.piece_bytes, send.total_ - send.offset_);
  if (const Status status = pack(message, piece); !status.ok()) {
    message.chunks->give(chunk);
    message.pieces.pop_back();
    note(message, status);
    return true;
  }
  send.offset_ += piece.bytes;
  if (piece.phase == Piece::Phase::kPacked) advance_pieces(message);
  return true;
}

// Advances a piece; false if later ones have to wait for it.
bool PieceSends::advance_piece(Message& message, Piece& piece, bool* moved) {
  using Phase = Piece::Phase;
  if (piece.phase == Phase::kPacking) {
    bool done = false;
    note(message, piece.copy.poll(&done));
    if (!done) return false;  // copies of one stream end in order
    *moved = true;
    piece.phase = Phase::kPacked;
  }
  if (piece.phase == Phase::kPacked) {
    const bool carried = goes_on(message);
    const Status status = carried ? carry_(message, piece) : kOk;
    if (status.is_again()) return false;
    note(message, status);
    piece.phase = Phase::kCarried;
    if (carried && status.ok()) {
      message.sent += piece.bytes;
    } else {
      piece.complete = true;  // the carrier does not have it
    }
    *moved = true;
  }
  return true;
}

bool PieceSends::advance_pieces(Message& message) {
  bool moved = false;
  for (auto at = message.pieces.begin(); at != message.pieces.end();) {
    Piece& piece = *at;
    if (!advance_piece(message, piece, &moved)) break;
    if (!piece.complete) {
      ++at;
      continue;
    }
    moved = true;
    message.stopped |= !piece.status.ok();
    if (!piece.lent) message.chunks->give(piece.chunk);
    at = message.pieces.erase(at);
  }
  return moved;
}

bool PieceSends::advance() {
  bool moved = false;
  const std::size_t count = messages_.size();
  ++first_;
  for (std::size_t i = 0; i < count; ++i) {
    Message& message = *messages_[(first_ + i) % count];
    moved |= advance_pieces(message);
    moved |= start_piece(message) || bypass(message);
  }
  for (std::size_t i = 0; i < messages_.size();) {
    if (!is_over(*messages_[i])) {
      ++i;
      continue;
    }
    moved = true;
    const std::unique_ptr<Message> message = std::move(messages_[i]);
    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i));
    end(*message);
  }
  return moved;
}

bool PieceSends::holds(const Request& send) const noexcept {
  return std::ranges::any_of(messages_, [&](const auto& each) { return each->send == &send; });
}

bool PieceSends::copies_for(int proc) const noexcept {
  const auto is_packing = [](const Piece& piece) { return piece.phase == Piece::Phase::kPacking; };
  return std::ranges::any_of(
      messages_, [&](const auto& each) { return each->proc == proc && std::ranges::any_of(each->pieces, is_packing); });
}

bool PieceSends::uses(const Chunks& chunks) const noexcept {
  return std::ranges::any_of(messages_, [&](const auto& each) { return each->chunks == &chunks; });
}

void PieceSends::fail_pending(int proc) {
  for (const auto& each : messages_) {
    if (each->proc == proc) note(*each, failure_error(proc));
  }
}

}  // namespace hr::p2p
