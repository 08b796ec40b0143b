#include "p2p/protocol/staged_chunks.hpp"

#include <algorithm>
#include <bit>

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "layout/device/chunk_copy.hpp"

namespace hr::p2p::staged {
namespace {

// A message is divided into at least kPieces pieces, so that their copies overlap.
constexpr std::size_t kPieces = 4;
// Pieces are not smaller than these sizes, as starting a copy takes about as long as moving this number of bytes.
constexpr std::size_t kLeastByCpu = std::size_t{64} << 10;
constexpr std::size_t kLeastByEngines = std::size_t{512} << 10;
constexpr std::size_t kLeastDevice = std::size_t{4} << 20;
// Maximum size of pieces that a CPU copies, so that all pending ones fit into its cache.
constexpr std::size_t kMostByCpu = std::size_t{256} << 10;
constexpr std::size_t kDeviceChunks = 4;

}  // namespace

Chunks::Chunks(std::span<std::byte> shared) : shared_(shared) {
  const std::size_t chunk = std::bit_floor(knobs().device_pipeline_chunk_bytes);
  cut(chunk, shared.size() / chunk);
}

Status Chunks::allocate(const mem::Location& like) {
  const std::size_t chunk = std::bit_floor(knobs().device_staging_bytes / kDeviceChunks);
  HR_TRY(device_.allocate(like, chunk * kDeviceChunks));
  cut(chunk, kDeviceChunks);
  return kOk;
}

void Chunks::cut(std::size_t chunk_bytes, std::size_t count) {
  chunk_bytes_ = chunk_bytes;
  count_ = count;
  holders_.assign(count, -1);
  for (std::size_t chunk = count; chunk-- > 0;) free_.push_back(static_cast<std::uint32_t>(chunk));
}

std::size_t Chunks::piece_bytes(std::size_t message_bytes, bool by_cpu) const noexcept {
  const std::size_t least = by_cpu ? kLeastByCpu : shared_.empty() ? kLeastDevice : kLeastByEngines;
  const std::size_t most = by_cpu ? std::min(kMostByCpu, chunk_bytes_) : chunk_bytes_;
  return std::min(most, std::max(least, std::bit_ceil(message_bytes / kPieces)));
}

Status Chunks::pin(const layout::View& view) { return layout::device::pin(view, shared_, &pinned_); }

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
  for (std::uint32_t chunk = 0; chunk < count_; ++chunk) {
    if (holders_[chunk] == proc) give(chunk);
  }
}

}  // namespace hr::p2p::staged
