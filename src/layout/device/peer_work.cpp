#include "layout/device/peer_work.hpp"

#include "base/knobs.hpp"
#include "layout/device/copy_batch.hpp"
#include "layout/device/pitched.hpp"

namespace hr::layout::device {

using mem::device::Context;
using mem::device::Current;

Status PeerMappings::map(const mem::Location& near, int process, const mem::device::Export& allocation,
                         std::uint64_t* moved_by) {
  Context* context = nullptr;
  HR_TRY(Context::of(near, &context));
  Current current(*context);
  HR_TRY(current.status());
  mem::device::Mapping* mapping = nullptr;
  HR_TRY(mem::device::map_import(*context, process, allocation, &mapping));
  pinned_.push_back(mapping);
  *moved_by = mem::device::base_of(*mapping) - allocation.base;
  return kOk;
}

void PeerMappings::release() noexcept {
  for (mem::device::Mapping* mapping : pinned_) mem::device::unpin(mapping);
  pinned_.clear();
}

Status PeerWork::start(Context& context, std::span<const Move> moves, bool (&used)[kCopyStreams]) {
  // A kernel that reads from a peer takes longer than a copy, so it pays only for three or more pieces.
  constexpr std::size_t kFew = 2;
  const bool engine_only = moves.size() <= kFew || !has_copy_kernels(context);
  const auto by_engine = [&](const Move& move) {
    return move.from.linear() && move.to.contiguous && (engine_only || move.bytes >= knobs().device_batch_bytes);
  };
  mem::device::StreamHandle stream = nullptr;
  HR_TRY(context.copy_stream(0, &stream));
  CopyBatch batch(context, stream);
  for (const Move& move : moves) {
    if (by_engine(move)) continue;
    SideShape to;
    HR_TRY(side_of(move.to, context, &to));
    used[0] = true;
    bool started = false;
    if (moves.size() <= kFew) HR_TRY(start_pitched(context, stream, move.from, to, move.bytes, &started));
    if (!started) HR_TRY(batch.add(move.from, to, move.bytes));
  }
  HR_TRY(batch.launch());
  int lane = used[0] ? 1 : 0;
  for (const Move& move : moves) {
    if (!by_engine(move) || move.bytes == 0) continue;
    HR_TRY(context.copy_stream(lane, &stream));
    used[lane] = true;
    HR_DEVICE(context.device(), copy_async,
              (reinterpret_cast<std::uintptr_t>(move.to.data()), move.from.address, move.bytes, stream),
              "%zu bytes from %#llx to %p", move.bytes, static_cast<unsigned long long>(move.from.address),
              static_cast<void*>(move.to.data()));
    lane = (lane + 1) % kCopyStreams;
  }
  return kOk;
}

Status PeerWork::move(const mem::Location& near, std::span<const Move> moves) {
  if (moves.empty()) return kOk;
  Context* context = nullptr;
  HR_TRY(Context::of(near, &context));
  const Current current(*context);
  HR_TRY(current.status());
  bool used[kCopyStreams] = {};
  Status status = start(*context, moves, used);
  // Copies started before a failure must also end before the caller continues.
  for (int lane = 0; lane < kCopyStreams; ++lane) {
    if (!used[lane]) continue;
    mem::device::StreamHandle stream = nullptr;
    Status recorded = context->copy_stream(lane, &stream);
    if (recorded.ok()) recorded = work_events_[lane].record(*context, stream);
    if (status.ok()) status = recorded;
  }
  return status;
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
    return fail(Errc::kUnsupportedOperation, "no kernel on device %d for this reduction", context->device());
  }
  return work_events_[0].record(*context, context->stream());
}

bool PeerWork::can_reduce(const mem::Location& near, const Op& op, const Datatype& type) {
  if (!device::can_reduce(op, type)) return false;
  Context* context = nullptr;
  if (!Context::of(near, &context).ok()) return false;
  const Current current(*context);
  mem::device::FunctionHandle function = nullptr;
  const ReduceKernel kernel = reduce_kernel(op, type, {});
  return current.status().ok() && kernel.name != nullptr && context->kernel(kernel.name, &function).ok() &&
         function != nullptr;
}

Status PeerWork::poll(bool* done) {
  Status first = kOk;
  *done = true;
  for (mem::device::WorkEvent& event : work_events_) {
    bool ended = true;
    const Status status = event.poll("a collective operation", &ended);
    if (first.ok()) first = status;
    *done = *done && ended;
  }
  return first;
}

}  // namespace hr::layout::device
