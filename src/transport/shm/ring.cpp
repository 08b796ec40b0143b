#include "transport/shm/ring.hpp"

namespace hr::transport::shm {
namespace {

constexpr std::size_t kPage = 4096;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

// Where a payload of `room` bytes starts when the byte ring has been used up to `next`: never across the end.
constexpr std::uint64_t place(std::uint64_t next, std::size_t room, std::size_t ring) {
  const std::uint64_t at = next % ring;
  return at + room <= ring ? next : next + (ring - at);
}

}  // namespace

std::size_t ring_footprint(std::size_t payload_bytes) noexcept {
  return round_up(sizeof(RingMemory) + payload_bytes, kPage);
}

std::uint64_t Producer::find_room(std::size_t bytes) noexcept {
  const std::size_t room = round_up(bytes, kLine);
  if (settles_) [[unlikely]] {
    bytes_consumed_ = memory_->bytes_consumed.load(std::memory_order_acquire);
    if (bytes_consumed_ != next_byte_) return kNone;
    payload_bytes_ = usable_;
    settles_ = false;
  }
  const std::uint64_t at = place(next_byte_, room, payload_bytes_);
  if (at % payload_bytes_ + room > usable_) [[unlikely]] {
    wanted_ = at % payload_bytes_ + room;
    return kNone;
  }
  if (at + room - bytes_consumed_ > payload_bytes_) [[unlikely]] {
    bytes_consumed_ = memory_->bytes_consumed.load(std::memory_order_acquire);
    // Into an empty ring goes whatever fits it, though the rest of this lap is skipped.
    if (at + room - bytes_consumed_ > payload_bytes_ && bytes_consumed_ != next_byte_) return kNone;
  }
  return at;
}

bool Producer::send_long(const Header& header, const void* payload, std::size_t bytes) noexcept {
  std::byte* slot = reserve(bytes);
  if (slot == nullptr) return false;
  if (bytes != 0) std::memcpy(slot, payload, bytes);
  commit(header);
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
  if (reserved_bytes_ > kInlineBytes) {
    const Place place{reserved_at_, reserved_at_ % payload_bytes_};
    std::memcpy(cell.data, &place, sizeof place);
    next_byte_ = reserved_at_ + round_up(reserved_bytes_, kLine);
  }
  publish(cell, header, reserved_bytes_);
}

void Consumer::take_long(int from, Deliver deliver) {
  const Cell& cell = *cell_;
  const std::size_t bytes = cell.bytes;
  Place place;
  std::memcpy(&place, cell.data, sizeof place);
  deliver(from, cell.header, memory_->payload() + place.where, bytes);
  memory_->bytes_consumed.store(place.at + round_up(bytes, kLine), std::memory_order_release);
}

}  // namespace hr::transport::shm
