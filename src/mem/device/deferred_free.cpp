#include "mem/device/deferred_free.hpp"

#include <utility>
#include <vector>

#include "mem/device/context.hpp"
#include "mem/state.hpp"

namespace hr::mem::device {
namespace {

struct Deferred {
  DeferredFrees::Kind kind;
  ContextHandle context;
  std::uint64_t context_id;
  DeviceAddress address;
};

struct Collected final : FileState {
  std::vector<Deferred> all;
};

void free_now(DeferredFrees::Kind kind, DeviceAddress address) noexcept {
  switch (kind) {
    case DeferredFrees::Kind::kDevice:
      (void)driver().memory_free(address);
      return;
    case DeferredFrees::Kind::kPinned:
      (void)driver().host_free(reinterpret_cast<void*>(address));
      return;
    case DeferredFrees::Kind::kImport:
      (void)driver().ipc_close_handle(address);
      return;
  }
}

}  // namespace

void DeferredFrees::Hold::set(bool held) noexcept {
  if (held == held_) return;
  held_ = held;
  holds_ += held ? 1 : -1;
  if (holds_ == 0) flush();
}

void DeferredFrees::free(Kind kind, ContextHandle context, std::uint64_t context_id, DeviceAddress address) noexcept {
  if (holds_ == 0) return free_now(kind, address);
  own<Collected>().all.push_back({kind, context, context_id, address});
}

void DeferredFrees::flush() noexcept {
  if (mem::detail::current_state == nullptr) return;
  const std::vector<Deferred> all = std::exchange(own<Collected>().all, {});
  for (const Deferred& each : all) {
    if (!Context::alive(each.context, each.context_id) || driver().context_push(each.context) != kSuccess) continue;
    free_now(each.kind, each.address);
    ContextHandle popped = nullptr;
    (void)driver().context_pop(&popped);
  }
}

}  // namespace hr::mem::device
