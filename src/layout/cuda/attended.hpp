// A copy that was given to an attendant, for those who make it otherwise when the attendant has left. Threads: library
// lock.
#pragma once

#include "mem/cuda/attendant.hpp"
#include "mem/cuda/context.hpp"

namespace hr::layout::cuda {

// *done: the copy has been made, or has failed. Where the attendant has left without it, otherwise(context) starts it
// in its context, which is current then; `attended` is no longer active.
template <class Otherwise>
Status poll_attended(mem::cuda::AttendedCopy& attended, bool* done, const Otherwise& otherwise) {
  using mem::cuda::Attendant;
  const auto look = [&]() -> Status {
    Attendant::Answer answer = Attendant::Answer::kUnderWay;
    HR_TRY(attended.poll(&answer));
    *done = answer == Attendant::Answer::kDone;
    if (answer != Attendant::Answer::kLeft) return kOk;
    mem::cuda::Context* context = nullptr;
    HR_TRY(attended.context(&context));
    const mem::cuda::Current current(*context);
    HR_TRY(current.status());
    return otherwise(*context);
  };
  const Status status = look();
  if (!status.ok()) *done = true;
  return status;
}

}  // namespace hr::layout::cuda
