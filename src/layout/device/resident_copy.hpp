// Polls a copy submitted to the resident copy kernel, for callers that copy by other means if that kernel has exited.
// Threads: library lock.
#pragma once

#include "mem/device/context.hpp"
#include "mem/device/resident_copier.hpp"

namespace hr::layout::device {

// *done: true if the copy is complete or has failed. If the resident copy kernel has exited without copying, calls
// otherwise(context), with that context current, to start the copy; `resident_copy` is no longer active then.
template <class Otherwise>
Status poll_resident_copy(mem::device::ResidentCopy& resident_copy, bool* done, const Otherwise& otherwise) {
  using mem::device::ResidentCopier;
  const auto look = [&]() -> Status {
    ResidentCopier::Progress answer = ResidentCopier::Progress::kPending;
    HR_TRY(resident_copy.poll(&answer));
    *done = answer == ResidentCopier::Progress::kDone;
    if (answer != ResidentCopier::Progress::kExited) return kOk;
    mem::device::Context* context = nullptr;
    HR_TRY(resident_copy.context(&context));
    const mem::device::Current current(*context);
    HR_TRY(current.status());
    return otherwise(*context);
  };
  const Status status = look();
  if (!status.ok()) *done = true;
  return status;
}

}  // namespace hr::layout::device
