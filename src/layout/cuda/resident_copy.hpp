// Polls a copy submitted to the resident copy kernel, for callers that make it otherwise if that has exited. Threads:
// library lock.
#pragma once

#include "mem/cuda/context.hpp"
#include "mem/cuda/resident_copier.hpp"

namespace hr::layout::cuda {

// *done: the copy has been made, or has failed. If the resident copy kernel has exited without it, otherwise(context)
// starts it in its context, which is current then; `resident_copy` is no longer active.
template <class Otherwise>
Status poll_resident_copy(mem::cuda::ResidentCopy& resident_copy, bool* done, const Otherwise& otherwise) {
  using mem::cuda::ResidentCopier;
  const auto look = [&]() -> Status {
    ResidentCopier::Progress answer = ResidentCopier::Progress::kPending;
    HR_TRY(resident_copy.poll(&answer));
    *done = answer == ResidentCopier::Progress::kDone;
    if (answer != ResidentCopier::Progress::kExited) return kOk;
    mem::cuda::Context* context = nullptr;
    HR_TRY(resident_copy.context(&context));
    const mem::cuda::Current current(*context);
    HR_TRY(current.status());
    return otherwise(*context);
  };
  const Status status = look();
  if (!status.ok()) *done = true;
  return status;
}

}  // namespace hr::layout::cuda
