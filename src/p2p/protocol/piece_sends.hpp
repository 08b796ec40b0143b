// PieceSends: the sender's half of a protocol that moves messages piece by piece through chunks of staging memory, so
// that the copies and the transfers to the receiver overlap.
//
// The CPU or a device packs each piece into a chunk; then the protocol's carrier takes it to the receiver. Messages
// take turns, a chunk each. If no chunk is given back for a while, because receivers make no progress, a message
// continues through the transport (as a stream does). After a failure of this process nothing more is sent, and the
// receiver learns how many bytes will not arrive. No call waits.
//
// Owner: the protocol. A message is in the table from begin() until its request is complete; the request and the chunks
// outlive that. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "layout/device/chunk_copy.hpp"
#include "p2p/protocol/chunks.hpp"
#include "p2p/request.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

class PieceSends {
 public:
  // A piece in its chunk; exists until the chunk is lent or no longer needed. The carrier completes the operation. An
  // error means that the path has failed; its failure then ends the message (fail_pending()).
  struct Piece : transport::Operation {
    std::uint32_t chunk = 0;
    bool lent = false;  // the receiver gives the chunk back
    std::size_t offset = 0;
    std::size_t bytes = 0;
    bool rows = false;  // mem/device/two_rows.hpp
    enum class Phase : std::uint8_t { kPacking, kPacked, kCarried } phase = Phase::kPacking;
    layout::device::ChunkCopy copy;
  };
  // A pending send. The next piece starts at Request::offset_; everything before it is in `pieces`, or has been sent.
  struct Message {
    Request* send;
    int proc;
    std::uint8_t way;  // wire::Way
    Chunks* chunks;
    std::size_t piece_bytes;
    std::list<Piece> pieces{};  // in order
    std::size_t sent = 0;       // bytes that the carrier or the transport has taken
    bool stopped = false;       // the path has failed
    Status failure{};           // first failure; nothing starts after it
    std::string failure_text{};
  };
  // Takes a packed piece to its receiver, or returns Status::again().
  using Carry = Status (*)(const Message& message, Piece& piece);

  explicit PieceSends(Carry carry) noexcept : carry_(carry) {}

  // Starts to send Request::total_ bytes. `way`: kFromDevice if a device packs, kDeviceChunks for chunks in device
  // memory, kRows for pieces in two rows where possible.
  void begin(Request& send, int proc, std::uint8_t way, Chunks& chunks, std::size_t piece_bytes);
  bool advance();
  [[nodiscard]] bool any() const noexcept { return !messages_.empty(); }
  [[nodiscard]] bool holds(const Request& send) const noexcept;
  // True if a piece for that process is being packed.
  [[nodiscard]] bool copies_for(int proc) const noexcept;
  // True if a message goes through these chunks.
  [[nodiscard]] bool uses(const Chunks& chunks) const noexcept;
  // Ends sends to a failed process once none of their pieces is pending.
  void fail_pending(int proc);

 private:
  bool start_piece(Message& message);
  bool advance_pieces(Message& message);
  bool advance_piece(Message& message, Piece& piece, bool* moved);

  Carry carry_;
  std::vector<std::unique_ptr<Message>> messages_;
  std::size_t first_ = 0;  // index of the message that gets the first chunk; advances in turn
};

}  // namespace hr::p2p
