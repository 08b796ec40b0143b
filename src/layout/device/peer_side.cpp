#include "layout/device/peer_side.hpp"

namespace hr::layout::device {

using mem::device::Context;
using mem::device::Current;

Status side_for_peers(const View& view, SideShape* side, mem::Location* list) {
  list->id = 0;
  Context* context = nullptr;
  HR_TRY(Context::of(view.where, &context));
  const Current current(*context);
  HR_TRY(current.status());
  HR_TRY(side_of(view, *context, side));
  if (side->blocks == 0) return kOk;
  return mem::classify(reinterpret_cast<const void*>(side->blocks), list);
}

mem::device::Range addresses_of(const View& view) noexcept {
  std::byte* first = nullptr;
  std::size_t bytes = 0;
  span_of(view, &first, &bytes);
  const auto begin = reinterpret_cast<std::uintptr_t>(first);
  return {begin, begin + bytes};
}

bool can_access(const mem::Location& near, const View& other) {
  Context* context = nullptr;
  Context* owner = nullptr;
  if (!Context::of(near, &context).ok() || !Context::of(other.where, &owner).ok()) return false;
  const Current current(*context);
  return current.status().ok() && reachable(*context, other, *owner);
}

bool has_copy_kernels(const mem::Location& near) {
  Context* context = nullptr;
  if (!Context::of(near, &context).ok()) return false;
  const Current current(*context);
  return current.status().ok() && has_copy_kernels(*context);
}

}  // namespace hr::layout::device
