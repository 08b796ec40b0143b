#include "transport/shm/ring.hpp"

#include <cstring>

namespace hr::transport::shm {
namespace {

constexpr std::size_t kPage = 4096;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

// Laps count from 1: zero, the content of fresh memory, is never a ready sequence.
constexpr std::uint32_t lap_of(std::uint64_t cell) { return static_cast<std::uint32_t>(cell / kCells + 1); }

// Where a payload of `room` bytes starts when the byte ring has been used up to `next`: never across the end.
constexpr std::uint64_t place(std::uint64_t next, std::size_t room, std::size_t ring) {
  const std::uint64_t at = next % ring;
  return at + room <= ring ? next : next + (ring - at);
}

}  // namespace

std::size_t ring_footprint(std::size_t payload_bytes) noexcept {
  return round_up(sizeof(RingMemory) + payload_bytes, kPage);
}

bool Producer::cell_free() noexcept {
  if (next_cell_ - cells_consumed_ < kCells) [[likely]]
    return true;
  cells_consumed_ = memory_->cells_consumed.load(std::memory_order_acquire);
  return next_cell_ - cells_consumed_ < kCells;
}

std::uint64_t Producer::find_room(std::size_t bytes) noexcept {
  const std::size_t room = round_up(bytes, kLine);
  const std::uint64_t at = place(next_byte_, room, payload_bytes_);
  if (at + room - bytes_consumed_ > payload_bytes_) [[unlikely]] {
    bytes_consumed_ = memory_->bytes_consumed.load(std::memory_order_acquire);
    if (at + room - bytes_consumed_ > payload_bytes_) return kNone;
  }
  return at;
}

void Producer::publish(Cell& cell) noexcept {
  cell.sequence.store(lap_of(next_cell_), std::memory_order_release);
  ++next_cell_;
}

bool Producer::send(const Header& header, const void* payload, std::size_t bytes) noexcept {
  if (!cell_free()) [[unlikely]]
    return false;
  Cell& cell = memory_->cells[next_cell_ % kCells];
  if (bytes <= kInlineBytes) {
    if (bytes == 8) {
      std::memcpy(cell.data, payload, 8);
    } else if (bytes != 0) {
      std::memcpy(cell.data, payload, bytes);
    }
  } else {
    const std::uint64_t at = find_room(bytes);
    if (at == kNone) return false;
    std::memcpy(memory_->payload() + at % payload_bytes_, payload, bytes);
    next_byte_ = at + round_up(bytes, kLine);
  }
  cell.bytes = static_cast<std::uint32_t>(bytes);
  cell.header = header;
  publish(cell);
  return true;
}

std::byte* Producer::reserve(std::size_t bytes) noexcept {
  if (!cell_free()) return nullptr;
  reserved_bytes_ = static_cast<std::uint32_t>(bytes);
  if (bytes <= kInlineBytes) return memory_->cells[next_cell_ % kCells].data;
  reserved_at_ = find_room(bytes);
  return reserved_at_ == kNone ? nullptr : memory_->payload() + reserved_at_ % payload_bytes_;
}

void Producer::commit(const Header& header) noexcept {
  Cell& cell = memory_->cells[next_cell_ % kCells];
  if (reserved_bytes_ > kInlineBytes) next_byte_ = reserved_at_ + round_up(reserved_bytes_, kLine);
  cell.bytes = reserved_bytes_;
  cell.header = header;
  publish(cell);
}

void Consumer::take(int from, Deliver deliver) {
  Cell& cell = *cell_;
  const std::size_t bytes = cell.bytes;
  if (bytes <= kInlineBytes) {
    deliver(from, cell.header, cell.data, bytes);
  } else {
    const std::size_t room = round_up(bytes, kLine);
    const std::uint64_t at = place(next_byte_, room, payload_bytes_);
    deliver(from, cell.header, memory_->payload() + at % payload_bytes_, bytes);
    next_byte_ = at + room;
    memory_->bytes_consumed.store(next_byte_, std::memory_order_release);
  }
  ++next_cell_;
  memory_->cells_consumed.store(next_cell_, std::memory_order_release);
  lap_ = lap_of(next_cell_);
  cell_ = &memory_->cells[next_cell_ % kCells];
}

}  // namespace hr::transport::shm
