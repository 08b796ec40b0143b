#include "transport/shm/ring.hpp"

#include <algorithm>

#include "base/machine.hpp"
#include "base/past_caches.hpp"

namespace hr::transport::shm {
namespace {

constexpr std::size_t kPage = 4096;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::size_t ring_footprint(std::size_t payload_bytes) noexcept {
  return round_up(sizeof(RingMemory) + payload_bytes, kPage);
}

std::size_t piece_bytes() noexcept {
  static const std::size_t bytes = is_amd() ? 2048 : 3072;
  return bytes;
}

void Producer::see_consumed() noexcept {
  cells_consumed_ = reader_.load(memory_->cells_consumed, cells_consumed_);
  bytes_consumed_ = memory_->bytes_consumed.load(std::memory_order_acquire);
}

bool Producer::reader_is_far() noexcept {
  reader_.count();
  if (reader_.is_due()) see_consumed();
  return reader_.is_far();
}

void Producer::lengthen_laps() noexcept {
  // What an earlier lap left behind may lie where this one would go on.
  if (bytes_consumed_ < lap_start_) see_consumed();
  if (bytes_consumed_ >= lap_start_) lap_bytes_ = payload_bytes_;
}

bool Producer::find_room(std::size_t bytes, Place& place) noexcept {
  const std::size_t room = round_up(bytes, kCacheLine);
  if (settles_) [[unlikely]] {
    see_consumed();
    if (bytes_consumed_ != next_byte_) return false;
    payload_bytes_ = lap_bytes_ = usable_;
    settles_ = false;
  }
  place = next_place(room);
  if (lap_bytes_ < payload_bytes_ && ((place.where == 0 && laps_ >= kFirstLaps) || room > lap_bytes_)) [[unlikely]] {
    lengthen_laps();
    place = next_place(room);
    if (room > lap_bytes_) return false;
  }
  if (place.where + room > usable_) [[unlikely]] {
    wanted_ = place.where + room;
    return false;
  }
  if (place.at + room - bytes_consumed_ > lap_bytes_) [[unlikely]] {
    see_consumed();
    // Into an empty ring goes whatever fits it, though the rest of this lap is skipped.
    if (place.at + room - bytes_consumed_ > lap_bytes_ && bytes_consumed_ != next_byte_) return false;
  }
  return true;
}

bool Producer::send_long(const Header& header, const void* payload, std::size_t bytes) noexcept {
  // Before there is need to know what the consumer says: in a full ring that is asked again and again.
  const bool past_caches = bytes >= kLeastPastCaches && reader_is_far();
  if (shuttles_ != nullptr && own_turn_ && bytes > kInlineBytes) shuttles_->count_turn();
  std::byte* slot = reserve(bytes);
  if (slot == nullptr) return false;
  if (past_caches) {
    copy_past_caches(slot, static_cast<const std::byte*>(payload), bytes);
  } else if (awaited(bytes) && bytes >= 2 * piece_bytes()) {
    copy_in_pieces(slot, static_cast<const std::byte*>(payload), bytes);
  } else if (bytes != 0) {
    std::memcpy(slot, payload, bytes);
  }
  commit(header);
  return true;
}

void Producer::copy_in_pieces(std::byte* slot, const std::byte* payload, std::size_t bytes) noexcept {
  constexpr std::size_t kMostPieces = (1U << (32 - kLapBits)) - 1;
  Cell& cell = memory_->cells[next_cell_ % kCells];
  write_place(cell);
  const std::uint32_t lap = lap_of(next_cell_);
  const std::size_t each = piece_bytes();
  const std::size_t pieces = std::min((bytes - 1) / each, kMostPieces);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    std::memcpy(slot + piece * each, payload + piece * each, each);
    cell.sequence.store(lap | static_cast<std::uint32_t>(piece + 1) << kLapBits, std::memory_order_release);
  }
  std::memcpy(slot + pieces * each, payload + pieces * each, bytes - pieces * each);
}

std::byte* Producer::reserved() const noexcept {
  return reserved_.in_shuttle() ? shuttles_->memory(reserved_.shuttle()) : memory_->payload() + reserved_.where;
}

void Producer::write_place(Cell& cell) const noexcept {
  const Place place{apart(reserved_.at), apart(reserved_.where)};
  std::memcpy(cell.data, &place, sizeof place);
}

std::byte* Producer::reserve(std::size_t bytes) noexcept {
  if (!cell_free()) return nullptr;
  reserved_bytes_ = static_cast<std::uint32_t>(bytes);
  if (bytes <= kInlineBytes) return memory_->cells[next_cell_ % kCells].data;
  if (goes_by_shuttle(bytes)) {
    reserved_ = {0, Place::kShuttle | static_cast<std::uint64_t>(shuttles_->next())};
    return reserved();
  }
  return find_room(bytes, reserved_) ? reserved() : nullptr;
}

void Producer::commit(const Header& header) noexcept {
  Cell& cell = memory_->cells[next_cell_ % kCells];
  if (reserved_bytes_ > kInlineBytes) {
    write_place(cell);
    if (awaited(reserved_bytes_)) hand_over(reserved(), reserved_bytes_);
    if (reserved_.in_shuttle()) {
      shuttles_->leave();
    } else {
      next_byte_ = reserved_.at + round_up(reserved_bytes_, kCacheLine);
      if (reserved_.where == 0 && laps_ < kFirstLaps) ++laps_;
      lap_start_ = reserved_.at - reserved_.where;
    }
  }
  publish(next_cell_, header, reserved_bytes_);
}

void Producer::prepare(std::size_t bytes) noexcept {
  own_turn_ = true;
  bytes = turn_bytes_ = static_cast<std::uint32_t>(std::min<std::size_t>(turn_bytes_, bytes));
  take_back(&memory_->cells[next_cell_ % kCells], cell_bytes(bytes));
  if (bytes <= kInlineBytes || goes_by_shuttle(bytes)) return;
  const std::uint64_t where = next_place(round_up(bytes, kCacheLine)).where;
  if (where + bytes <= usable_) take_back(memory_->payload() + where, bytes);
}

void Consumer::take_long(int from, const Handlers& handlers) {
  const Cell& cell = *cell_;
  const std::size_t bytes = cell.bytes;
  Place place;
  std::memcpy(&place, cell.data, sizeof place);
  handlers[kind_of(cell.header)](from, cell.header, payload_at(place), bytes);
  if (place.in_shuttle()) {
    shuttles_->arrive(place.shuttle());
  } else {
    memory_->bytes_consumed.store(place.at + round_up(bytes, kCacheLine), std::memory_order_release);
  }
  fetched_pieces_ = 0;
}

bool Consumer::follow_pieces() noexcept {
  // Of a piece's 48 lines one comes in a few ns; a writer that has lost its core meanwhile is left alone.
  constexpr int kLooks = 256;
  Place place;
  std::memcpy(&place, cell_->data, sizeof place);
  const std::byte* const payload = payload_at(place);
  for (int look = 0; look < kLooks; ++look) {
    const std::uint32_t sequence = cell_->sequence.load(std::memory_order_acquire);
    if (sequence == lap_) return true;
    const std::uint32_t pieces = sequence >> kLapBits;
    if (pieces == fetched_pieces_) continue;
    const std::size_t each = piece_bytes();
    for (std::size_t at = fetched_pieces_ * each; at < pieces * each; at += kCacheLine)
      __builtin_prefetch(payload + at);
    fetched_pieces_ = pieces;
    look = 0;
  }
  return false;
}

}  // namespace hr::transport::shm
