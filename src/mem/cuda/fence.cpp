#include "mem/cuda/fence.hpp"

#include "base/knobs.hpp"

namespace hr::mem::cuda {

Status Fence::set(const Location& where) {
  context_ = nullptr;
  if (knobs().default_stream == DefaultStreamChoice::kIgnore) return kOk;
  Context* context = nullptr;
  HR_TRY(Context::of(where, &context));
  Current current(*context);
  HR_TRY(current.status());
  if (driver().stream_query(legacy_stream()) == kSuccess) return kOk;
  HR_TRY(context->set_fence(&number_));
  context_ = context->handle();
  id_ = context->id();
  return kOk;
}

bool Fence::passed() {
  if (context_ == nullptr) return true;
  Context* context = Context::find(context_, id_);
  if (context != nullptr && !context->fence_passed(number_)) return false;
  context_ = nullptr;
  return true;
}

}  // namespace hr::mem::cuda
