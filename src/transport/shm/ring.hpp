// Ring: messages from one process to another through shared memory. One producer, one consumer.
//
// Shared part (RingMemory): a ring of cells and a byte ring for payloads that do not fit into a cell. A cell is a pair
// of cache lines, which processors fetch together; up to 32 bytes of payload touch only the first one. A message takes
// one cell. A payload longer than kInlineBytes is in the byte ring, contiguous and aligned to 64 bytes, or in an
// exchange buffer if one is available (exchange_buffers.hpp); the cell contains its location (Place). A cell is ready
// when its sequence equals the lap of its index, so nothing is ever cleared and stale bytes cannot be mistaken for a
// message.
//
// Neither the cells nor the byte ring need be backed by memory from the start: a producer uses as much as is known to
// be backed, and reports how much more it needs (wants_cells(), wanted()). If there is no more, it continues with a
// smaller byte ring (settle()), or with the cells that it has (settle_cells()): the last of them then tells the
// consumer to continue at the first one. So a message that fits into a cell never needs more memory. The cell after the
// last message is always backed, as the consumer polls it.
//
// If the two processes take turns, the next cell's line is prefetched when it is this side's turn, and the payload
// is demoted towards the reader (base/cache_hints.hpp). If the reader is so far away that one transfer of a line
// through memory is faster than two between the cores, long payloads are written with non-temporal stores
// (base/reader_distance.hpp).
//
// Memory order: the producer writes payload and cell, then stores `sequence` (release); the consumer loads it
// (acquire). The consumer stores its progress (release) into its own line, which the producer reads only when the ring
// seems full.
// Owner: the segment owns the shared part; Producer and Consumer are private to their process (library lock).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/cache_hints.hpp"
#include "base/reader_distance.hpp"
#include "base/short_copy.hpp"
#include "transport/shm/exchange_buffers.hpp"
#include "transport/transport.hpp"

namespace hr::transport::shm {

inline constexpr std::size_t kCells = 256;
inline constexpr std::size_t kInlineBytes = 96;
inline constexpr std::size_t kShortBytes = 32;  // payload bytes in the cell's first line
// In place of the length of a message: the next one is in the first cell.
inline constexpr std::uint32_t kEndOfLap = ~std::uint32_t{0};
// Smallest payload written with non-temporal stores to a reader that is far away; shorter payloads gain nothing.
inline constexpr std::size_t kMinNontemporalBytes = 512;

struct alignas(2 * kCacheLine) Cell {
  std::atomic<std::uint32_t> sequence;  // the lap, once the message is complete
  std::uint32_t bytes;
  Header header;
  std::byte data[kInlineBytes];
};
static_assert(sizeof(Cell) == 2 * kCacheLine);
static_assert(offsetof(Cell, data) + kShortBytes == kCacheLine);

// Returns the size of the cell's lines that a message of this length touches.
constexpr std::size_t cell_bytes(std::size_t payload) noexcept {
  return payload > kShortBytes && payload <= kInlineBytes ? sizeof(Cell) : kCacheLine;
}

// Location of a payload outside its cell; stored in the cell's data.
struct Place {
  static constexpr std::uint64_t kExchangeBuffer = std::uint64_t{1} << 63;
  std::uint64_t at;     // total number of bytes used in the byte ring before it; unused for an exchange buffer
  std::uint64_t where;  // offset in the byte ring; or kExchangeBuffer and the buffer's index

  [[nodiscard]] bool in_exchange_buffer() const noexcept { return (where & kExchangeBuffer) != 0; }
  [[nodiscard]] int exchange_buffer() const noexcept { return static_cast<int>(where & ~kExchangeBuffer); }
};

struct RingMemory {
  // Written only by the consumer.
  alignas(kCacheLine) std::atomic<std::uint64_t> cells_consumed;
  std::atomic<std::uint64_t> bytes_consumed;
  // The first cell starts on a new pair of lines, as the neighbouring line is fetched along with it.
  alignas(2 * kCacheLine) Cell cells[kCells];

  [[nodiscard]] std::byte* payload() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

// Returns the size of the first `cells` cells, and everything before them.
constexpr std::size_t cells_footprint(std::uint64_t cells) noexcept {
  return offsetof(RingMemory, cells) + static_cast<std::size_t>(cells) * sizeof(Cell);
}
// Returns the size of the shared memory of one ring with this much payload space, a multiple of the page size.
std::size_t ring_footprint(std::size_t payload_bytes) noexcept;

// Laps count from 1, so zero, the content of fresh memory, is not a lap until the count wraps.
constexpr std::uint32_t lap_of(std::uint64_t cell) noexcept { return static_cast<std::uint32_t>(cell / kCells + 1); }

class Producer {
 public:
  Producer(RingMemory* memory, std::size_t payload_bytes) noexcept : Producer(memory, payload_bytes, payload_bytes) {}
  // `usable`: number of bytes at the start of the byte ring that are backed by memory. `exchange_buffers`: may be null.
  // `cells`: number of cells that are backed.
  Producer(RingMemory* memory, std::size_t payload_bytes, std::size_t usable,
           ExchangeBuffers* exchange_buffers = nullptr, std::uint64_t cells = kCells) noexcept
      : memory_(memory), exchange_buffers_(exchange_buffers), payload_bytes_(payload_bytes), usable_(usable) {
    back_cells(cells);
  }

  // False if there is no space.
  bool send(const Header& header, const void* payload, std::size_t bytes) noexcept {
    if (bytes > kInlineBytes || !cell_free()) [[unlikely]]
      return send_long(header, payload, bytes);
    if (bytes != 0) std::memcpy(memory_->cells[next_cell_ % kCells].data, payload, bytes);
    publish(next_cell_, header, bytes);
    return true;
  }
  // send() for a payload that needs only one line, inlined. False if the payload is longer, or if the ring is full
  // according to the progress of the consumer that was last seen.
  [[gnu::always_inline]] bool send_short(const Header& header, const void* payload, std::size_t bytes) noexcept {
    const std::uint64_t at = next_cell_;
    if (bytes > kShortBytes || at >= cells_end_) [[unlikely]]
      return false;
    copy_short(memory_->cells[at % kCells].data, static_cast<const std::byte*>(payload), bytes);
    publish(at, header, bytes);
    return true;
  }
  // Prefetches, within a burst of messages, the line of a cell that a later message will use. The line is in the
  // consumer's cache: without the prefetch, the stores of these messages, and all later stores, would wait for such
  // lines one at a time.
  void prefetch_next_cells() noexcept {
    prefetch_for_write(&memory_->cells[(next_cell_ + kAhead) % kCells], kCacheLine);
  }
  // Returns the address at which to write a payload of `bytes` bytes; nullptr if there is no space. commit() publishes
  // the payload.
  std::byte* reserve(std::size_t bytes) noexcept;
  void commit(const Header& header) noexcept;

  // True if this many messages find a free cell.
  [[nodiscard]] bool has_cells(int messages) noexcept {
    const std::uint64_t end = next_cell_ + static_cast<std::uint64_t>(messages);
    if (end > cells_end_) see_consumed();
    return end <= cells_end_;
  }

  // Records that a message arrived from the reader of this ring, which may now be waiting for an answer.
  void note_reply() noexcept {
    if (replied_) return;
    replied_ = true;
    prefetch_for_write(&memory_->cells[next_cell_ % kCells], cell_bytes(last_bytes_));
  }

  // True if another exchange buffer should be created before the next payload of `bytes` bytes is sent.
  [[nodiscard]] bool wants_exchange_buffer(std::size_t bytes) const noexcept {
    return bytes > kInlineBytes && bytes <= kExchangeBufferBytes && exchange_buffers_ != nullptr &&
           exchange_buffers_->should_create() && !reader_.is_far();
  }
  // Number of bytes of the byte ring that must be backed before the last refused message can be sent; 0 if it was
  // refused for another reason.
  [[nodiscard]] std::size_t wanted() const noexcept { return wanted_; }
  [[nodiscard]] std::size_t usable() const noexcept { return usable_; }
  void grow(std::size_t usable) noexcept {
    usable_ = usable;
    wanted_ = 0;
  }
  // True if the last message was refused because its cell has no memory.
  [[nodiscard]] bool wants_cells() const noexcept { return !settled_cells_ && next_cell_ >= last_backed_; }
  // Records that the first `cells` cells are backed.
  void back_cells(std::uint64_t cells) noexcept {
    backed_ = cells;
    last_backed_ = cells < kCells ? cells - 1 : ~std::uint64_t{0};
    find_end();
  }
  // Records that there is no memory for more cells: the backed ones are the whole ring from now on. Called if
  // wants_cells().
  void settle_cells() noexcept { settled_cells_ = true; }
  [[nodiscard]] std::uint64_t backed_cells() const noexcept { return backed_; }
  // Records that there is no more memory: the byte ring shrinks to its usable part as soon as it is empty.
  void settle() noexcept {
    settles_ = true;
    wanted_ = 0;
  }

 private:
  static constexpr std::uint64_t kAhead = 8;
  bool cell_free() noexcept {
    if (next_cell_ < cells_end_) [[likely]]
      return true;
    see_consumed();
    if (settled_cells_ && next_cell_ == last_backed_) [[unlikely]]
      end_lap();
    return next_cell_ < cells_end_;
  }
  // Tells the consumer to continue at the first cell, if the last backed cell is free.
  void end_lap() noexcept;
  void find_end() noexcept { cells_end_ = std::min(cells_consumed_ + kCells, last_backed_); }
  // Publishes cell `at`, the next one, whose data has been written.
  void publish(std::uint64_t at, const Header& header, std::size_t bytes) noexcept {
    RingMemory& memory = *memory_;
    Cell& cell = memory.cells[at % kCells];
    cell.bytes = static_cast<std::uint32_t>(bytes);
    cell.header = header;
    cell.sequence.store(lap_of(at), std::memory_order_release);
    next_cell_ = at + 1;
    replied_ = false;
    last_bytes_ = static_cast<std::uint32_t>(bytes);
  }
  // Reads both words that the consumer writes, because they share a line.
  void see_consumed() noexcept;
  [[nodiscard]] bool reader_is_far() noexcept;
  [[nodiscard]] bool uses_exchange_buffer(std::size_t bytes) const noexcept {
    return exchange_buffers_ != nullptr && exchange_buffers_->has_for(bytes) && !reader_.is_far();
  }
  [[nodiscard]] std::byte* reserved() const noexcept;
  // Writes the location of the last reservation into its cell.
  void write_place(Cell& cell) const noexcept;
  // Sends a payload of any length; false if there is no space. Called if send() cannot send it within a cell.
  bool send_long(const Header& header, const void* payload, std::size_t bytes) noexcept;
  // Returns the location for a payload that takes `room` bytes, free or not, but never across the end of a lap.
  [[nodiscard]] Place next_place(std::size_t room) const noexcept {
    const std::uint64_t where = next_byte_ - lap_start_;
    return where + room <= payload_bytes_ ? Place{next_byte_, where} : Place{lap_start_ + payload_bytes_, 0};
  }
  // Finds contiguous free lines in the byte ring; false if there are none.
  bool find_room(std::size_t bytes, Place& place) noexcept;

  RingMemory* memory_;
  ExchangeBuffers* exchange_buffers_;  // null: none
  std::size_t payload_bytes_;
  std::size_t usable_;
  std::size_t wanted_ = 0;
  bool settles_ = false;
  bool settled_cells_ = false;
  bool replied_ = false;          // a message has arrived from the reader since the last one to it
  std::uint32_t last_bytes_ = 0;  // length of the last message
  std::uint64_t next_cell_ = 0;
  std::uint64_t next_byte_ = 0;
  std::uint64_t lap_start_ = 0;       // total bytes used before this lap of the byte ring
  std::uint64_t cells_consumed_ = 0;  // last seen
  std::uint64_t cells_end_ = 0;       // first cell that may not be written, according to the above
  std::uint64_t last_backed_ = 0;     // last backed cell of this lap; far away once all are
  std::uint64_t backed_ = 0;          // number of cells that are backed
  std::uint64_t bytes_consumed_ = 0;  // last seen
  ReaderDistance reader_;
  Place reserved_{};  // reserved location of a payload longer than a cell
  std::uint32_t reserved_bytes_ = 0;
};

class Consumer {
 public:
  Consumer() noexcept = default;
  explicit Consumer(RingMemory* memory, ExchangeBuffers* exchange_buffers = nullptr) noexcept
      : memory_(memory), exchange_buffers_(exchange_buffers), cell_(&memory->cells[0]) {}

  [[nodiscard]] bool ready() const noexcept { return cell_->sequence.load(std::memory_order_acquire) == lap_; }
  // Passes the ready message to the handler of its kind, and frees its space.
  void take(int from, const MessageHandlers& handlers) {
    Cell& cell = *cell_;
    const std::size_t bytes = cell.bytes;
    if (bytes <= kInlineBytes) [[likely]] {
      handlers[kind_of(cell.header)](from, cell.header, cell.data, bytes);
    } else {
      take_long(from, handlers);
    }
    ++next_cell_;
    memory_->cells_consumed.store(next_cell_, std::memory_order_release);
    if (next_cell_ % kCells == 0) [[unlikely]]
      lap_ = lap_of(next_cell_);
    cell_ = &memory_->cells[next_cell_ % kCells];
  }

 private:
  // take() for a payload that is not in the cell, or for the end of a lap.
  void take_long(int from, const MessageHandlers& handlers);

  [[nodiscard]] const std::byte* payload_at(const Place& place) const noexcept {
    return place.in_exchange_buffer() ? exchange_buffers_->memory(place.exchange_buffer())
                                      : memory_->payload() + place.where;
  }

  RingMemory* memory_ = nullptr;
  ExchangeBuffers* exchange_buffers_ = nullptr;
  Cell* cell_ = nullptr;
  std::uint32_t lap_ = 1;
  std::uint64_t next_cell_ = 0;
};

}  // namespace hr::transport::shm
