#include "layout/device/chunk_copy.hpp"

#include "base/knobs.hpp"
#include "layout/device/resident_copy.hpp"
#include "layout/device/side.hpp"
#include "mem/device/two_rows.hpp"

namespace hr::layout::device {
namespace {

using mem::device::Context;
using mem::device::Current;
using mem::device::DeviceAddress;
using mem::device::Export;

// Calls `work(context)` with the view's context, which is then current.
template <class Work>
Status in_context_of(const View& view, const Work& work) {
  Context* context = nullptr;
  HR_TRY(Context::of(view.where, &context));
  Current current(*context);
  HR_TRY(current.status());
  return work(*context);
}

}  // namespace

bool movable(const View& view) {
  bool kernels = false;
  const Status status = view.contiguous ? kOk : in_context_of(view, [&](Context& context) {
    kernels = has_copy_kernels(context);
    return kOk;
  });
  return status.ok() && (view.contiguous || kernels);
}

bool time_sliced(const View& view) {
  bool sliced = false;
  const Status status = in_context_of(view, [&](Context& context) {
    sliced = context.time_sliced();
    return kOk;
  });
  return status.ok() && sliced;
}

Status pin(const View& view, std::span<std::byte> memory, mem::device::PinnedRange* pinned) {
  return in_context_of(view, [&](Context& context) { return pinned->pin(context, memory); });
}

Status map_peer_memory(const View& view, int process, const Export& memory) {
  return in_context_of(view, [&](Context& context) {
    mem::device::Mapping* mapping = nullptr;
    HR_TRY(mem::device::map_import(context, process, memory, &mapping));
    mem::device::unpin(mapping);
    return kOk;
  });
}

Status ChunkCopy::move_contiguous(Context& context, DeviceAddress target, DeviceAddress source, std::size_t bytes) {
  mem::device::StreamHandle stream = nullptr;
  HR_TRY(context.copy_stream(lane_, &stream));
  HR_DEVICE(context.device(), copy_async, (target, source, bytes, stream),
            "%zu bytes from %#llx to %#llx, one of them staging memory", bytes, source, target);
  return work_event_.record(context, stream);
}

Status ChunkCopy::move(Way way, const View& view, std::size_t first, std::size_t bytes, Context& context,
                       DeviceAddress chunk, In in, int process) {
  // One stream per direction, so that copies for messages to and from the same process run concurrently.
  lane_ = 2 * process + (way == Way::kOut ? 1 : 0);
  if (view.contiguous && in != In::kPinnedRows) {
    const DeviceAddress data = reinterpret_cast<std::uintptr_t>(view.data()) + first;
    const DeviceAddress target = way == Way::kOut ? chunk : data;
    const DeviceAddress source = way == Way::kOut ? data : chunk;
    const bool attend = in == In::kDevice && bytes <= knobs().device_resident_copy_bytes && !context.time_sliced();
    if (attend && resident_copy_.begin(context, target, source, bytes)) return kOk;
    return move_contiguous(context, target, source, bytes);
  }
  mem::device::StreamHandle stream = nullptr;
  HR_TRY(context.copy_stream(lane_, &stream));
  if (view.contiguous) {
    const DeviceAddress data = reinterpret_cast<std::uintptr_t>(view.data()) + first;
    const mem::device::TwoRows rows{bytes};
    HR_TRY(way == Way::kOut ? rows.start_out(context, stream, data, chunk)
                            : rows.start_in(context, stream, chunk, data));
    return work_event_.record(context, stream);
  }
  SideShape side;
  HR_TRY(side_of(view, context, &side));
  const SideShape packed = packed_side(chunk, first);
  bool launched = false;
  HR_TRY(launch_copy(context, stream, way == Way::kOut ? side : packed, way == Way::kOut ? packed : side, first, bytes,
                     &launched));
  if (!launched) {
    return fail(Errc::kUnsupportedOperation, "the library has no kernels for device %d", context.device());
  }
  return work_event_.record(context, stream);
}

Status ChunkCopy::pack(const View& from, std::size_t first, std::size_t bytes, DeviceAddress chunk, In in,
                       int process) {
  return in_context_of(
      from, [&](Context& context) { return move(Way::kOut, from, first, bytes, context, chunk, in, process); });
}

Status ChunkCopy::unpack(const View& to, std::size_t first, std::size_t bytes, DeviceAddress chunk, In in,
                         int process) {
  return in_context_of(to,
                       [&](Context& context) { return move(Way::kIn, to, first, bytes, context, chunk, in, process); });
}

Status ChunkCopy::unpack(const View& to, std::size_t first, std::size_t bytes, const Export& memory, std::size_t at,
                         int process) {
  return in_context_of(to, [&](Context& context) {
    HR_TRY(mem::device::map_import(context, process, memory, &mapping_));
    return move(Way::kIn, to, first, bytes, context, mem::device::base_of(*mapping_) + at, In::kDevice, process);
  });
}

Status ChunkCopy::poll(bool* done) {
  const Status status =
      resident_copy_.active()
          ? poll_resident_copy(resident_copy_, done,
                               [&](Context& context) {
                                 return move_contiguous(context, resident_copy_.target(), resident_copy_.source(),
                                                        resident_copy_.bytes());
                               })
          : work_event_.poll("a staged copy", done);
  if (*done) unpin();
  return status;
}

void ChunkCopy::unpin() noexcept {
  if (mapping_ != nullptr) mem::device::unpin(mapping_);
  mapping_ = nullptr;
}

}  // namespace hr::layout::device
