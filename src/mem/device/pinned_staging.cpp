#include "mem/device/pinned_staging.hpp"

#include <algorithm>
#include <bit>

#include "base/buffered.hpp"
#include "base/knobs.hpp"
#include "mem/device/deferred_free.hpp"

namespace hr::mem::device {

Status PinnedStaging::take(Context& context, std::size_t bytes) {
  constexpr std::size_t kLeast = 65536;
  give_back();
  context_ = context.handle();
  id_ = context.id();
  Context& owner = context.owner();
  auto& free = owner.free_pinned_;
  const auto fits = std::find_if(free.begin(), free.end(), [&](const auto& memory) { return memory.size() >= bytes; });
  if (fits != free.end()) {
    memory_ = *fits;
    owner.cached_pinned_bytes_ -= memory_.size();
    free.erase(fits);
    return kOk;
  }
  // Powers of two, so that returned memory can serve the next request of about its size.
  const std::size_t rounded = std::bit_ceil(std::max(bytes, kLeast));
  void* memory = nullptr;
  HR_DEVICE(context.device(), host_allocate, (&memory, rounded, kHostRegisterPortable), "%zu bytes for staging",
            rounded);
  memory_ = {static_cast<std::byte*>(memory), rounded};
  take_buffers(counters::Buffers::kPinned, rounded);
  return kOk;
}

void PinnedStaging::give_back() noexcept {
  if (memory_.empty()) return;
  const std::span<std::byte> memory = memory_;
  memory_ = {};
  Context* const context = Context::find(context_, id_);
  if (context == nullptr) return give_back_buffers(counters::Buffers::kPinned, memory.size());
  if (DeferredFrees::held() || context->cached_pinned_bytes_ + memory.size() <= knobs().device_staging_bytes) {
    context->cached_pinned_bytes_ += memory.size();
    context->free_pinned_.push_back(memory);
    return;
  }
  give_back_buffers(counters::Buffers::kPinned, memory.size());
  if (driver().context_push(context_) != kSuccess) return;
  (void)driver().host_free(memory.data());
  ContextHandle popped = nullptr;
  (void)driver().context_pop(&popped);
}

}  // namespace hr::mem::device
