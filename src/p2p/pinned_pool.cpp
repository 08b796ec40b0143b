#include "p2p/pinned_pool.hpp"

#include <cstdlib>
#include <cstring>

namespace hr::p2p {
namespace {

constexpr std::size_t kPage = 65536;  // of any machine

}  // namespace

void PinnedPool::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

PinnedPool::PinnedPool(std::size_t chunk_bytes, std::size_t count)
    : chunk_bytes_((chunk_bytes + kPage - 1) / kPage * kPage), count_(count) {
  const std::size_t bytes = chunk_bytes_ * count_;
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, bytes)));
  if (memory_ == nullptr) return;
  std::memset(memory_.get(), 0, bytes);  // the pages are there
  for (std::size_t chunk = count; chunk-- > 0;) free_.push_back(static_cast<std::uint32_t>(chunk));
}

bool PinnedPool::take(std::uint32_t* chunk) {
  if (free_.empty()) return false;
  *chunk = free_.back();
  free_.pop_back();
  return true;
}

Status PinnedPool::pin(const layout::View& view) {
  return layout::cuda::pin(view, {memory_.get(), chunk_bytes_ * count_}, &pinned_);
}

}  // namespace hr::p2p
