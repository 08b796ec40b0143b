// Ring: messages from one process to another through shared memory. One producer, one consumer.
//
// Shared part (RingMemory): a ring of 64-byte cells, one cache line each, and a byte ring for payloads that do not
// fit a cell. A message takes one cell; a payload above kInlineBytes lies in the byte ring, contiguous, cut at 64
// bytes; both sides compute where from the sizes alone. A cell is ready when its sequence equals the lap of its
// index, so nothing is ever cleared and stale bytes cannot be mistaken for a message.
//
// Memory order: the producer writes payload and cell, then stores `sequence` (release); the consumer loads it
// (acquire). The consumer stores what it has consumed (release) into its own line, which the producer reads only
// when it believes the ring full.
// Owner: the segment owns the shared part; Producer and Consumer are private to their process (library lock).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transport/transport.hpp"

namespace hr::transport::shm {

inline constexpr std::size_t kCells = 256;
inline constexpr std::size_t kInlineBytes = 32;
inline constexpr std::size_t kLine = 64;

struct alignas(kLine) Cell {
  std::atomic<std::uint32_t> sequence;
  std::uint32_t bytes;
  Header header;
  std::byte data[kInlineBytes];
};
static_assert(sizeof(Cell) == kLine);

struct RingMemory {
  // Written by the consumer alone.
  alignas(kLine) std::atomic<std::uint64_t> cells_consumed;
  std::atomic<std::uint64_t> bytes_consumed;
  // The first cell starts on a pair of lines of its own: the neighbour line is fetched along with it.
  alignas(2 * kLine) Cell cells[kCells];

  [[nodiscard]] std::byte* payload() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

// Bytes of shared memory of one ring with this much payload space, a multiple of the page size.
std::size_t ring_footprint(std::size_t payload_bytes) noexcept;

class Producer {
 public:
  Producer(RingMemory* memory, std::size_t payload_bytes) noexcept : memory_(memory), payload_bytes_(payload_bytes) {}

  // False: no room.
  bool send(const Header& header, const void* payload, std::size_t bytes) noexcept;
  // Where to write a payload of `bytes`; nullptr: no room. commit() publishes it.
  std::byte* reserve(std::size_t bytes) noexcept;
  void commit(const Header& header) noexcept;

 private:
  bool cell_free() noexcept;
  void publish(Cell& cell) noexcept;
  // Start of a free run in the byte ring (absolute position), or kNone.
  std::uint64_t find_room(std::size_t bytes) noexcept;
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  RingMemory* memory_;
  std::size_t payload_bytes_;
  std::uint64_t next_cell_ = 0;
  std::uint64_t next_byte_ = 0;
  std::uint64_t cells_consumed_ = 0;  // last seen
  std::uint64_t bytes_consumed_ = 0;  // last seen
  std::uint64_t reserved_at_ = 0;
  std::uint32_t reserved_bytes_ = 0;
};

class Consumer {
 public:
  Consumer() noexcept = default;
  Consumer(RingMemory* memory, std::size_t payload_bytes) noexcept
      : memory_(memory), cell_(&memory->cells[0]), payload_bytes_(payload_bytes) {}

  [[nodiscard]] bool ready() const noexcept { return cell_->sequence.load(std::memory_order_acquire) == lap_; }
  // Hands the ready message to `deliver` and frees its space.
  void take(int from, Deliver deliver);

 private:
  RingMemory* memory_ = nullptr;
  Cell* cell_ = nullptr;
  std::uint32_t lap_ = 1;
  std::size_t payload_bytes_ = 0;
  std::uint64_t next_cell_ = 0;
  std::uint64_t next_byte_ = 0;
};

}  // namespace hr::transport::shm
