#include "mem/device/device_buffer.hpp"

#include <algorithm>

#include "base/buffered.hpp"
#include "base/knobs.hpp"
#include "mem/device/deferred_free.hpp"

namespace hr::mem::device {

Status Staging::take(Context& context, std::size_t bytes) {
  // Powers of two, so that a freed buffer can serve the next request of about its size.
  std::size_t rounded = 65536;
  while (rounded < bytes) rounded *= 2;
  context_ = &context;
  auto& buffers = context.free_buffers_;
  const auto fits =
      std::find_if(buffers.begin(), buffers.end(), [&](const auto& free) { return free.bytes >= rounded; });
  if (fits != buffers.end()) {
    buffer_ = *fits;
    context.cached_bytes_ -= buffer_.bytes;
    buffers.erase(fits);
    return kOk;
  }
  HR_DEVICE(context.device(), memory_allocate, (&buffer_.address, rounded), "%zu bytes for staging", rounded);
  buffer_.bytes = rounded;
  take_buffers(counters::Buffers::kDevice, rounded);
  return kOk;
}

Staging::~Staging() {
  if (buffer_.address == 0) return;
  if (DeferredFrees::held() || context_->cached_bytes_ + buffer_.bytes <= knobs().device_staging_bytes) {
    context_->cached_bytes_ += buffer_.bytes;
    context_->free_buffers_.push_back(buffer_);
  } else {
    give_back_buffers(counters::Buffers::kDevice, buffer_.bytes);
    (void)driver().memory_free(buffer_.address);
  }
}

Status DeviceBuffer::allocate(Context& context, std::size_t size) {
  context_ = context.handle();
  id_ = context.id();
  HR_DEVICE(context.device(), memory_allocate, (&address_, size), "%zu bytes to stay on the device", size);
  bytes_ = size;
  take_buffers(counters::Buffers::kDevice, size);
  return kOk;
}

Status DeviceBuffer::fill(Context& context, const void* bytes, std::size_t size) {
  HR_TRY(allocate(context, size));
  HR_DEVICE(context.device(), copy_async, (address_, reinterpret_cast<std::uintptr_t>(bytes), size, context.stream()),
            "%zu bytes from %p to the device", size, bytes);
  return context.synchronize("a copy to the device");
}

DeviceBuffer::~DeviceBuffer() {
  if (address_ == 0) return;
  give_back_buffers(counters::Buffers::kDevice, bytes_);
  if (!Context::alive(context_, id_)) return;
  if (driver().context_push(context_) != kSuccess) return;
  DeferredFrees::free(DeferredFrees::Kind::kDevice, context_, id_, address_);
  ContextHandle popped = nullptr;
  (void)driver().context_pop(&popped);
}

std::size_t staging_piece() noexcept {
  // The largest power of two within the limit, so that a piece fills a cached buffer exactly.
  std::size_t piece = 65536;
  while (piece * 2 <= knobs().device_staging_bytes) piece *= 2;
  return piece;
}

}  // namespace hr::mem::device
