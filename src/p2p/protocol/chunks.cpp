#include "p2p/protocol/chunks.hpp"

#include <algorithm>
#include <bit>

#include "base/clock.hpp"
#include "layout/device/chunk_copy.hpp"

namespace hr::p2p {
namespace {

// A message is cut into at least kPieces pieces, so that their copies overlap.
constexpr std::size_t kPieces = 4;

}  // namespace

bool Chunks::take_pages(std::size_t chunk_bytes, std::size_t count) {
  const std::size_t whole = whole_pages(chunk_bytes);
  pages_ = p2p::take_pages(whole * count);
  if (pages_ == nullptr) return false;
  buffered_.take(whole * count);
  use({pages_.get(), whole * count}, whole);
  return true;
}

void Chunks::use(std::span<std::byte> memory, std::size_t chunk_bytes) {
  host_ = memory;
  cut(chunk_bytes, memory.size() / chunk_bytes);
}

Status Chunks::allocate(const mem::Location& like, std::size_t chunk_bytes, std::size_t count) {
  HR_TRY(device_.allocate(like, chunk_bytes * count));
  cut(chunk_bytes, count);
  return kOk;
}

void Chunks::cut(std::size_t chunk_bytes, std::size_t count) {
  chunk_bytes_ = chunk_bytes;
  holders_.assign(count, -1);
  for (std::size_t chunk = count; chunk-- > 0;) free_.push_back(static_cast<std::uint32_t>(chunk));
}

std::size_t Chunks::piece_bytes(std::size_t message_bytes, std::size_t least) const noexcept {
  return std::min(chunk_bytes_, std::max(least, std::bit_ceil(message_bytes / kPieces)));
}

Status Chunks::pin(const layout::View& view) { return layout::device::pin(view, host_, &pinned_); }

bool Chunks::take(std::uint32_t* chunk) {
  if (free_.empty()) return false;
  *chunk = free_.back();
  free_.pop_back();
  if (free_.empty()) moved_at_ = now_seconds();
  return true;
}

void Chunks::give(std::uint32_t chunk) {
  free_.push_back(chunk);
  holders_[chunk] = -1;
  moved_at_ = now_seconds();
}

void Chunks::take_from(int proc) {
  for (std::uint32_t chunk = 0; chunk < holders_.size(); ++chunk) {
    if (holders_[chunk] == proc) give(chunk);
  }
}

}  // namespace hr::p2p
