// Ring: messages from one process to another through shared memory. One producer, one consumer.
//
// Shared part (RingMemory): a ring of cells and a byte ring for payloads that do not fit a cell. A cell is a pair of
// cache lines, which processors fetch together; up to 32 bytes of payload touch the first one alone. A message takes
// one cell; a payload above kInlineBytes lies in the byte ring, contiguous, cut at 64 bytes, or in a shuttle, where one
// is at hand (shuttles.hpp); its cell says where (Place). A cell is ready when its sequence equals the lap of its
// index, so nothing is ever cleared and stale bytes cannot be mistaken for a message.
//
// The byte ring need not have memory behind all of it from the start: a producer uses what it was told is there, and
// says how much more it would need (wanted()). Where there is no more, it makes do with a smaller ring (settle()). Its
// first laps are short (kFirstLap); who goes on writing gets long ones, where there is room for them, so that lines
// leave the reader's second-level cache before they are written again (base/machine.hpp).
//
// Where the two processes speak in turns, a message's lines are asked for when it is this side's turn, and handed over
// with it (base/cache_lines.hpp). A long one's cell tells from time to time how many pieces of piece_bytes() are
// written, so that the reader fetches them meanwhile. Where the reader is so far away that a line passes sooner through
// memory than twice between the two cores, long payloads are written past the caches (base/reader_distance.hpp).
//
// Memory order: the producer writes payload and cell, then stores `sequence` (release); the consumer loads it
// (acquire). The consumer stores what it has consumed (release) into its own line, which the producer reads only
// when it believes the ring full.
// Owner: the segment owns the shared part; Producer and Consumer are private to their process (library lock).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "base/apart.hpp"
#include "base/cache_lines.hpp"
#include "base/reader_distance.hpp"
#include "base/short_copy.hpp"
#include "transport/shm/shuttles.hpp"
#include "transport/transport.hpp"

namespace hr::transport::shm {

inline constexpr std::size_t kCells = 256;
inline constexpr std::size_t kInlineBytes = 96;
inline constexpr std::size_t kShortBytes = 32;  // in the cell's first line
inline constexpr unsigned kLapBits = 28;        // of a sequence
inline constexpr std::uint32_t kLapMask = (1U << kLapBits) - 1;
// A reader's processor fetches lines beyond those that it is asked to, out of the writer's hands: pieces shorter than
// these take longer than the message as a whole.
std::size_t piece_bytes() noexcept;
// Bytes of the byte ring's first laps, and how many of them there are.
inline constexpr std::size_t kFirstLap = std::size_t{512} * 1024;
inline constexpr int kFirstLaps = 8;
// To a reader that is far away, past the caches; shorter payloads gain nothing.
inline constexpr std::size_t kLeastPastCaches = 512;

struct alignas(2 * kCacheLine) Cell {
  // Lap; as long as the message is not whole, above kLapBits the number of pieces written.
  std::atomic<std::uint32_t> sequence;
  std::uint32_t bytes;
  Header header;
  std::byte data[kInlineBytes];
};
static_assert(sizeof(Cell) == 2 * kCacheLine);
static_assert(offsetof(Cell, data) + kShortBytes == kCacheLine);

// Bytes of the lines of a cell that a message of this length touches.
constexpr std::size_t cell_bytes(std::size_t payload) noexcept {
  return payload > kShortBytes && payload <= kInlineBytes ? sizeof(Cell) : kCacheLine;
}

// In the data of a cell whose payload does not lie in it.
struct Place {
  static constexpr std::uint64_t kShuttle = std::uint64_t{1} << 63;
  std::uint64_t at;     // bytes of the byte ring used up before it, ever; unused for a shuttle
  std::uint64_t where;  // in the byte ring; or the number of a shuttle, with that bit

  [[nodiscard]] bool in_shuttle() const noexcept { return (where & kShuttle) != 0; }
  [[nodiscard]] int shuttle() const noexcept { return static_cast<int>(where & ~kShuttle); }
};

struct RingMemory {
  // Written by the consumer alone.
  alignas(kCacheLine) std::atomic<std::uint64_t> cells_consumed;
  std::atomic<std::uint64_t> bytes_consumed;
  // The first cell starts on a pair of lines of its own: the neighbour line is fetched along with it.
  alignas(2 * kCacheLine) Cell cells[kCells];

  [[nodiscard]] std::byte* payload() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

// Bytes of shared memory of one ring with this much payload space, a multiple of the page size.
std::size_t ring_footprint(std::size_t payload_bytes) noexcept;

// Laps count from 1: zero, the content of fresh memory, is none until they have all been used.
constexpr std::uint32_t lap_of(std::uint64_t cell) noexcept {
  return static_cast<std::uint32_t>(cell / kCells + 1) & kLapMask;
}

class Producer {
 public:
  Producer(RingMemory* memory, std::size_t payload_bytes) noexcept : Producer(memory, payload_bytes, payload_bytes) {}
  // With memory behind the first `usable` bytes of the byte ring, and perhaps with shuttles.
  Producer(RingMemory* memory, std::size_t payload_bytes, std::size_t usable, Shuttles* shuttles = nullptr) noexcept
      : memory_(memory),
        shuttles_(shuttles),
        payload_bytes_(payload_bytes),
        lap_bytes_(std::min(payload_bytes, kFirstLap)),
        usable_(usable) {}

  // False: no room.
  bool send(const Header& header, const void* payload, std::size_t bytes) noexcept {
    if (bytes > kInlineBytes || !cell_free()) [[unlikely]]
      return send_long(header, payload, bytes);
    if (bytes != 0) std::memcpy(memory_->cells[next_cell_ % kCells].data, payload, bytes);
    publish(next_cell_, header, bytes);
    return true;
  }
  // The same for a payload that needs one line only, without a call. False: no room there, or more than that.
  [[gnu::always_inline]] bool send_short(const Header& header, const void* payload, std::size_t bytes) noexcept {
    const std::uint64_t at = next_cell_;
    if (bytes > kShortBytes || at - cells_consumed_ >= kCells) [[unlikely]]
      return false;
    copy_short(memory_->cells[at % kCells].data, static_cast<const std::byte*>(payload), bytes);
    publish(at, header, bytes);
    return true;
  }
  // In a row of messages: asks for the line of a cell that one of the next will be written to. The consumer has it, and
  // the stores of these messages, and all others behind them, would wait for one such line after the other.
  void claim_ahead() noexcept { take_back(&memory_->cells[(next_cell_ + kAhead) % kCells], kCacheLine); }
  // Where to write a payload of `bytes`; nullptr: no room. commit() publishes it.
  std::byte* reserve(std::size_t bytes) noexcept;
  void commit(const Header& header) noexcept;

  // A message of `bytes` came from the process that reads this ring: if the last one there was of that kind, it may
  // wait for the next.
  void take_turn(std::size_t bytes) noexcept {
    if (!own_turn_) prepare(bytes);
  }

  // There should be another shuttle before the next payload of that length goes.
  [[nodiscard]] bool wants_shuttle(std::size_t bytes) const noexcept {
    return bytes > kInlineBytes && bytes <= kShuttleBytes && shuttles_ != nullptr && shuttles_->wants_one() &&
           !reader_.is_far();
  }
  // How many bytes of the byte ring need memory before the last message refused can go; 0: it was something else.
  [[nodiscard]] std::size_t wanted() const noexcept { return wanted_; }
  [[nodiscard]] std::size_t usable() const noexcept { return usable_; }
  void grow(std::size_t usable) noexcept {
    usable_ = usable;
    wanted_ = 0;
  }
  // There is no more: the byte ring becomes as small as what is usable, as soon as it is empty.
  void settle() noexcept {
    settles_ = true;
    wanted_ = 0;
  }

 private:
  static constexpr std::uint64_t kAhead = 8;
  bool cell_free() noexcept {
    if (next_cell_ - cells_consumed_ < kCells) [[likely]]
      return true;
    see_consumed();
    return next_cell_ - cells_consumed_ < kCells;
  }
  // Cell `at`, the next one, with what is in it already.
  void publish(std::uint64_t at, const Header& header, std::size_t bytes) noexcept {
    RingMemory& memory = *memory_;
    Cell& cell = memory.cells[at % kCells];
    cell.bytes = static_cast<std::uint32_t>(bytes);
    for (std::size_t i = 0; i < std::size(header.words); ++i) cell.header.words[i] = apart(header.words[i]);
    cell.sequence.store(lap_of(at), std::memory_order_release);
    next_cell_ = at + 1;
    own_turn_ = false;
    turn_bytes_ = static_cast<std::uint32_t>(bytes);
  }
  void prepare(std::size_t bytes) noexcept;
  // What the consumer says: both words, since they share a line, so that its next load finds a line that has changed.
  void see_consumed() noexcept;
  [[nodiscard]] bool reader_is_far() noexcept;
  [[nodiscard]] bool awaited(std::size_t bytes) const noexcept { return own_turn_ && bytes <= 2 * turn_bytes_; }
  [[nodiscard]] bool goes_by_shuttle(std::size_t bytes) const noexcept {
    return shuttles_ != nullptr && shuttles_->hold(bytes) && !reader_.is_far();
  }
  [[nodiscard]] std::byte* reserved() const noexcept;
  // Into the cell of the last reservation.
  void write_place(Cell& cell) const noexcept;
  void copy_in_pieces(std::byte* slot, const std::byte* payload, std::size_t bytes) noexcept;
  // Of any length, from the start.
  bool send_long(const Header& header, const void* payload, std::size_t bytes) noexcept;
  // Where a payload that takes `room` bytes goes, free or not: never across the end of a lap.
  [[nodiscard]] Place next_place(std::size_t room) const noexcept {
    const std::uint64_t where = next_byte_ - lap_start_;
    return where + room <= lap_bytes_ ? Place{next_byte_, where} : Place{lap_start_ + lap_bytes_, 0};
  }
  // Laps take the whole byte ring from now on, if nothing of an earlier one is left in it.
  void lengthen_laps() noexcept;
  // A free run in the byte ring, of whole lines. False: none.
  bool find_room(std::size_t bytes, Place& place) noexcept;

  RingMemory* memory_;
  Shuttles* shuttles_;  // null: none
  std::size_t payload_bytes_;
  std::size_t lap_bytes_;  // at most payload_bytes_
  std::size_t usable_;
  std::size_t wanted_ = 0;
  bool settles_ = false;
  bool own_turn_ = false;         // something came from the reader since the last message
  std::uint32_t turn_bytes_ = 0;  // of the last message; in the own turn, as much of the next as was asked for
  std::uint64_t next_cell_ = 0;
  std::uint64_t next_byte_ = 0;
  std::uint64_t lap_start_ = 0;       // bytes used up before this lap of the byte ring, ever
  int laps_ = 0;                      // of the byte ring, as long as they are counted
  std::uint64_t cells_consumed_ = 0;  // last seen
  std::uint64_t bytes_consumed_ = 0;  // last seen
  ReaderDistance reader_;
  Place reserved_{};  // when longer than a cell
  std::uint32_t reserved_bytes_ = 0;
};

class Consumer {
 public:
  Consumer() noexcept = default;
  explicit Consumer(RingMemory* memory, Shuttles* shuttles = nullptr) noexcept
      : memory_(memory), shuttles_(shuttles), cell_(&memory->cells[0]) {}

  [[nodiscard]] bool ready() noexcept {
    const std::uint32_t sequence = cell_->sequence.load(std::memory_order_acquire);
    if (sequence == lap_) return true;
    return (sequence & kLapMask) == lap_ && follow_pieces();
  }
  // Hands the ready message to the handler of its kind and frees its space. Returns its length.
  std::size_t take(int from, const Handlers& handlers) {
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
    return bytes;
  }

 private:
  // The part of take() that is about payloads that do not lie in the cell.
  void take_long(int from, const Handlers& handlers);
  // The next message is being written: fetches its pieces. True when it is whole.
  bool follow_pieces() noexcept;

  [[nodiscard]] const std::byte* payload_at(const Place& place) const noexcept {
    return place.in_shuttle() ? shuttles_->memory(place.shuttle()) : memory_->payload() + place.where;
  }

  RingMemory* memory_ = nullptr;
  Shuttles* shuttles_ = nullptr;
  Cell* cell_ = nullptr;
  std::uint32_t lap_ = 1;
  std::uint32_t fetched_pieces_ = 0;  // of the next message
  std::uint64_t next_cell_ = 0;
};

}  // namespace hr::transport::shm
