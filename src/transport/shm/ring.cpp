#include "transport/shm/ring.hpp"

#include <algorithm>

#include "base/nontemporal_copy.hpp"

namespace hr::transport::shm {
namespace {

constexpr std::size_t kPage = 4096;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::size_t ring_footprint(std::size_t payload_bytes) noexcept {
  return round_up(sizeof(RingMemory) + payload_bytes, kPage);
}

void Producer::see_consumed() noexcept {
  cells_consumed_ = reader_.load(memory_->cells_consumed, cells_consumed_);
  find_end();
  bytes_consumed_ = memory_->bytes_consumed.load(std::memory_order_acquire);
}

void Producer::end_lap() noexcept {
  if (next_cell_ >= cells_consumed_ + kCells) return;
  Cell& cell = memory_->cells[next_cell_ % kCells];
  cell.bytes = kEndOfLap;
  cell.sequence.store(lap_of(next_cell_), std::memory_order_release);
  next_cell_ = (next_cell_ / kCells + 1) * kCells;
  last_backed_ += kCells;
  find_end();
}

bool Producer::reader_is_far() noexcept {
  reader_.count();
  if (reader_.is_due()) see_consumed();
  return reader_.is_far();
}

bool Producer::find_room(std::size_t bytes, Place& place) noexcept {
  const std::size_t room = round_up(bytes, kCacheLine);
  if (settles_) [[unlikely]] {
    see_consumed();
    if (bytes_consumed_ != next_byte_) return false;
    payload_bytes_ = usable_;
    settles_ = false;
  }
  place = next_place(room);
  if (place.where + room > usable_) [[unlikely]] {
    wanted_ = place.where + room;
    return false;
  }
  if (place.at + room - bytes_consumed_ > payload_bytes_) [[unlikely]] {
    see_consumed();
    // An empty ring has space for any payload that fits into it, although the rest of this lap is skipped.
    if (place.at + room - bytes_consumed_ > payload_bytes_ && bytes_consumed_ != next_byte_) return false;
  }
  return true;
}

bool Producer::send_long(const Header& header, const void* payload, std::size_t bytes) noexcept {
  // Measures the distance before reserve() reads the consumer's words, which happens repeatedly while the ring is full.
  const bool nontemporal = bytes >= kMinNontemporalBytes && reader_is_far();
  if (exchange_buffers_ != nullptr && replied_ && bytes > kInlineBytes) exchange_buffers_->count_reply();
  std::byte* slot = reserve(bytes);
  if (slot == nullptr) return false;
  if (nontemporal) {
    copy_nontemporal(slot, static_cast<const std::byte*>(payload), bytes);
  } else if (bytes != 0) {
    std::memcpy(slot, payload, bytes);
  }
  commit(header);
  return true;
}

std::byte* Producer::reserved() const noexcept {
  return reserved_.in_exchange_buffer() ? exchange_buffers_->memory(reserved_.exchange_buffer())
                                        : memory_->payload() + reserved_.where;
}

void Producer::write_place(Cell& cell) const noexcept {
  const Place place{reserved_.at, reserved_.where};
  std::memcpy(cell.data, &place, sizeof place);
}

std::byte* Producer::reserve(std::size_t bytes) noexcept {
  wanted_ = 0;
  if (!cell_free()) return nullptr;
  reserved_bytes_ = static_cast<std::uint32_t>(bytes);
  if (bytes <= kInlineBytes) return memory_->cells[next_cell_ % kCells].data;
  if (uses_exchange_buffer(bytes)) {
    reserved_ = {0, Place::kExchangeBuffer | static_cast<std::uint64_t>(exchange_buffers_->next())};
    return reserved();
  }
  return find_room(bytes, reserved_) ? reserved() : nullptr;
}

void Producer::commit(const Header& header) noexcept {
  Cell& cell = memory_->cells[next_cell_ % kCells];
  if (reserved_bytes_ > kInlineBytes) {
    write_place(cell);
    if (replied_) demote(reserved(), reserved_bytes_);
    if (reserved_.in_exchange_buffer()) {
      exchange_buffers_->pop();
    } else {
      next_byte_ = reserved_.at + round_up(reserved_bytes_, kCacheLine);
      lap_start_ = reserved_.at - reserved_.where;
    }
  }
  publish(next_cell_, header, reserved_bytes_);
}

void Consumer::take_long(int from, const MessageHandlers& handlers) {
  const Cell& cell = *cell_;
  const std::size_t bytes = cell.bytes;
  if (bytes == kEndOfLap) {
    next_cell_ += kCells - 1 - next_cell_ % kCells;  // take() adds one
    return;
  }
  Place place;
  std::memcpy(&place, cell.data, sizeof place);
  handlers[kind_of(cell.header)](from, cell.header, payload_at(place), bytes);
  if (place.in_exchange_buffer()) {
    exchange_buffers_->push(place.exchange_buffer());
  } else {
    memory_->bytes_consumed.store(place.at + round_up(bytes, kCacheLine), std::memory_order_release);
  }
}

}  // namespace hr::transport::shm
