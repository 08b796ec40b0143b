#include "layout/device/local_copy.hpp"

#include "layout/device/side.hpp"
#include "mem/device/context.hpp"

namespace hr::layout::device {
namespace {

using mem::device::Context;
using mem::device::Current;
using mem::device::DeviceAddress;
using mem::device::StreamHandle;

DeviceAddress data_of(const View& view) noexcept { return reinterpret_cast<std::uintptr_t>(view.data()); }

// The driver's copies between contexts require memory that belongs to a context on both sides.
Status copy_contiguous(Context& from_context, const View& from, Context& to_context, const View& to, std::size_t bytes,
                       StreamHandle stream, bool* started) {
  const bool owned = from.where.context != nullptr && to.where.context != nullptr;
  // Managed memory belongs to every context.
  if (&from_context == &to_context || (owned && (from.where.managed || to.where.managed))) {
    HR_DEVICE(from_context.device(), copy_async, (data_of(to), data_of(from), bytes, stream), "%zu bytes to %p", bytes,
              static_cast<void*>(to.data()));
    *started = true;
  } else if (owned) {
    HR_DEVICE(from_context.device(), copy_peer_async,
              (data_of(to), to_context.handle(), data_of(from), from_context.handle(), bytes, stream),
              "%zu bytes to %p on device %d", bytes, static_cast<void*>(to.data()), to_context.device());
    *started = true;
  }
  return kOk;
}

// Runs on the sender's device, because stores to a peer need not wait for a reply, but loads must.
Status copy_typed(Context& from_context, const View& from, Context& to_context, const View& to, std::size_t bytes,
                  StreamHandle stream, bool* started) {
  if (!reachable(from_context, to, to_context)) return kOk;
  SideShape from_side;
  SideShape to_side;
  HR_TRY(side_of(from, from_context, &from_side));
  {
    Current current(to_context);
    HR_TRY(current.status());
    HR_TRY(side_of(to, to_context, &to_side));
  }
  return launch_copy(from_context, stream, from_side, to_side, 0, bytes, started);
}

}  // namespace

Status start_copy(const View& from, Context& from_context, const View& to, std::size_t bytes, StreamHandle stream,
                  bool* started) {
  *started = false;
  Context* to_context = nullptr;
  HR_TRY(Context::of(to.where, &to_context));
  HR_TRY(from_context.order_after(*to_context, stream));
  const bool contiguous = from.contiguous && to.contiguous;
  return (contiguous ? copy_contiguous : copy_typed)(from_context, from, *to_context, to, bytes, stream, started);
}

Status LocalCopy::start(const View& from, const View& to, std::size_t bytes, bool* started) {
  *started = false;
  Context* context = nullptr;
  HR_TRY(Context::of(from.where, &context));
  Current current(*context);
  HR_TRY(current.status());
  StreamHandle stream = nullptr;
  HR_TRY(context->copy_stream(0, &stream));
  HR_TRY(start_copy(from, *context, to, bytes, stream, started));
  return *started ? work_event_.record(*context, stream) : kOk;
}

}  // namespace hr::layout::device
