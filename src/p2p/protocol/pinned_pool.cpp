#include "p2p/protocol/pinned_pool.hpp"

namespace hr::p2p {

PinnedPool::PinnedPool(std::size_t chunk_bytes, std::size_t count)
    : chunk_bytes_(whole_pages(chunk_bytes)), count_(count), memory_(take_pages(chunk_bytes_ * count_)) {
  if (memory_ == nullptr) return;
  for (std::size_t chunk = count; chunk-- > 0;) free_.push_back(static_cast<std::uint32_t>(chunk));
}

bool PinnedPool::take(std::uint32_t* chunk) {
  if (free_.empty()) return false;
  *chunk = free_.back();
  free_.pop_back();
  return true;
}

Status PinnedPool::pin(const layout::View& view) {
  return layout::device::pin(view, {memory_.get(), chunk_bytes_ * count_}, &pinned_);
}

}  // namespace hr::p2p
