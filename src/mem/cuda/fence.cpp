#include "mem/cuda/fence.hpp"

namespace hr::mem::cuda {

Status Fence::set(const Location& where) {
  Context* context = nullptr;
  HR_TRY(Context::of(where, &context));
  Current current(*context);
  HR_TRY(current.status());
  StreamHandle stream = nullptr;
  HR_TRY(context->fence_stream(&stream));
  return ticket_.record(*context, stream);
}

bool Fence::passed() {
  bool done = true;
  return !ticket_.poll("the default stream", &done).ok() || done;
}

}  // namespace hr::mem::cuda
