#include "layout/cuda/chunked_copy.hpp"

#include <algorithm>

namespace hr::layout::cuda {

using mem::cuda::Context;
using mem::cuda::Current;

Status ChunkedCopy::start(std::uint64_t ready) {
  Context* context = nullptr;
  HR_TRY(Context::of(near_, &context));
  const Current current(*context);
  HR_TRY(current.status());
  for (; started_ < ready && started_ - done_ < kInFlight; ++started_) {
    mem::cuda::StreamHandle stream = nullptr;
    HR_TRY(context->copy_stream(static_cast<int>(started_ % Context::kCopyStreams), &stream));
    const std::size_t at = started_ * chunk_;
    HR_CUDA(context->device(), copy_async, (to_ + at, from_ + at, std::min(chunk_, bytes_ - at), stream),
            "chunk %llu of a collective, of %zu bytes", static_cast<unsigned long long>(started_), chunk_);
    HR_TRY(work_events_[started_ % kInFlight].record(*context, stream));
  }
  return kOk;
}

Status ChunkedCopy::advance(std::uint64_t ready) {
  while (done_ < started_) {
    bool ended = false;
    const Status copied = work_events_[done_ % kInFlight].poll("a chunk of a collective", &ended);
    if (status_.ok()) status_ = copied;
    if (!ended) break;
    ++done_;
  }
  ready = std::min(ready, chunks());
  if (status_.ok() && started_ < ready && started_ - done_ < kInFlight) status_ = start(ready);
  return status_;
}

}  // namespace hr::layout::cuda
