#include "mem/device/pinned.hpp"

namespace hr::mem::device {

Status PinnedRange::pin(Context& context, std::span<std::byte> memory) {
  if (memory_ != nullptr && Context::alive(context_, id_)) [[likely]]
    return kOk;
  memory_ = nullptr;
  const Result result =
      driver().host_register(memory.data(), memory.size(), kHostRegisterPortable | kHostRegisterDeviceMap);
  // Already registered in a context that no longer exists: that suffices.
  if (result != kHostAlreadyRegistered) {
    HR_TRY(report(result, "host_register", context.device(), "%zu bytes of shared memory at %p", memory.size(),
                  static_cast<void*>(memory.data())));
  }
  context_ = context.handle();
  id_ = context.id();
  memory_ = memory.data();
  const Status known = report(driver().host_device_pointer(&address_, memory.data(), 0), "host_device_pointer",
                              context.device(), "shared memory at %p", static_cast<void*>(memory.data()));
  if (!known.ok()) release();
  return known;
}

void PinnedRange::release() noexcept {
  if (memory_ == nullptr || !Context::alive(context_, id_)) return;
  if (driver().context_push(context_) != kSuccess) return;
  (void)driver().host_unregister(memory_);
  ContextHandle popped = nullptr;
  (void)driver().context_pop(&popped);
  memory_ = nullptr;
}

}  // namespace hr::mem::device
