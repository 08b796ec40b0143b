#include "layout/cuda/peer_work.hpp"

namespace hr::layout::cuda {

using mem::cuda::Context;
using mem::cuda::Current;
using mem::cuda::DeviceAddress;

Status PeerMappings::map(const mem::Location& near, int process, const mem::cuda::Export& allocation,
                         std::uint64_t address, DeviceAddress* mapped) {
  Context* context = nullptr;
  HR_TRY(Context::of(near, &context));
  Current current(*context);
  HR_TRY(current.status());
  mem::cuda::Mapping* mapping = nullptr;
  HR_TRY(mem::cuda::map_import(*context, process, allocation, &mapping));
  pinned_.push_back(mapping);
  *mapped = mem::cuda::base_of(*mapping) + (address - allocation.base);
  return kOk;
}

void PeerMappings::release() noexcept {
  for (mem::cuda::Mapping* mapping : pinned_) mem::cuda::unpin(mapping);
  pinned_.clear();
}

Status PeerWork::copy(const mem::Location& near, int lane, DeviceAddress to, DeviceAddress from, std::size_t bytes) {
  if (bytes == 0) return kOk;
  Context* context = nullptr;
  HR_TRY(Context::of(near, &context));
  Current current(*context);
  HR_TRY(current.status());
  mem::cuda::StreamHandle stream = nullptr;
  HR_TRY(context->lane(lane % kLanes, &stream));
  HR_CUDA(context->device(), copy_async, (to, from, bytes, stream), "%zu bytes from %#llx to %#llx", bytes, from, to);
  return tickets_[lane % kLanes].record(*context, stream);
}

Status PeerWork::reduce(const mem::Location& near, const Op& op, const Datatype& type, const Reduction& reduction) {
  if (reduction.count == 0) return kOk;
  Context* context = nullptr;
  HR_TRY(Context::of(near, &context));
  Current current(*context);
  HR_TRY(current.status());
  ReduceKernel kernel = reduce_kernel(op, type, reduction);
  bool launched = false;
  if (kernel.name != nullptr) HR_TRY(launch_reduce(*context, context->stream(), kernel, &launched));
  if (!launched) {
    return fail(Errc::kUnsupportedOperation, "no kernel on CUDA device %d for this reduction", context->device());
  }
  return tickets_[0].record(*context, context->stream());
}

bool PeerWork::can_reduce(const mem::Location& near, const Op& op, const Datatype& type) {
  if (!cuda::can_reduce(op, type)) return false;
  Context* context = nullptr;
  if (!Context::of(near, &context).ok()) return false;
  const Current current(*context);
  mem::cuda::FunctionHandle function = nullptr;
  const ReduceKernel kernel = reduce_kernel(op, type, {});
  return current.status().ok() && kernel.name != nullptr && context->kernel(kernel.name, &function).ok() &&
         function != nullptr;
}

Status PeerWork::poll(bool* done) {
  Status first = kOk;
  *done = true;
  for (mem::cuda::Ticket& ticket : tickets_) {
    bool ended = true;
    const Status status = ticket.poll("a collective operation", &ended);
    if (first.ok()) first = status;
    *done = *done && ended;
  }
  return first;
}

}  // namespace hr::layout::cuda
