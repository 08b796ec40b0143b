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

// Puts the copy of a range into the stream.
Status enqueue(ChunkCopy::Way way, Context& context, mem::device::StreamHandle stream, const ChunkCopy::Range& range) {
  const bool out = way == ChunkCopy::Way::kOut;
  if (range.rows) {
    const mem::device::TwoRows rows{range.bytes};
    return out ? rows.start_out(context, stream, range.device, range.staging)
               : rows.start_in(context, stream, range.staging, range.device);
  }
  HR_DEVICE(context.device(), copy_async,
            (out ? range.staging : range.device, out ? range.device : range.staging, range.bytes, stream),
            "%zu bytes between %#llx and staging memory at %#llx", range.bytes, range.device, range.staging);
  return kOk;
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

Status ChunkCopy::move(Way way, const View& view, std::size_t first, std::size_t bytes, Context& context,
                       DeviceAddress chunk, In in, int process) {
  // One stream per direction, so that copies for messages to and from the same process run concurrently.
  lane_ = 2 * process + (way == Way::kOut ? 1 : 0);
  if (view.contiguous) {
    const Range range{reinterpret_cast<std::uintptr_t>(view.data()) + first, chunk, bytes, in == In::kPinnedRows};
    const bool attend = in == In::kDevice && bytes <= knobs().device_resident_copy_bytes && !context.time_sliced();
    if (attend && begin_resident(way, context, range)) return kOk;
    return move_ranges(way, context, {&range, 1});
  }
  mem::device::StreamHandle stream = nullptr;
  HR_TRY(context.copy_stream(lane_, &stream));
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

bool ChunkCopy::begin_resident(Way way, Context& context, const Range& range) {
  const bool out = way == Way::kOut;
  return resident_copy_.begin(context, out ? range.staging : range.device, out ? range.device : range.staging,
                              range.bytes);
}

Status ChunkCopy::move_ranges(Way way, Context& context, std::span<const Range> ranges) {
  mem::device::StreamHandle stream = nullptr;
  HR_TRY(context.copy_stream(lane_, &stream));
  for (const Range& range : ranges) HR_TRY(enqueue(way, context, stream, range));
  return work_event_.record(context, stream);
}

Status ChunkCopy::move(Way way, Context& context, std::span<const Range> ranges) {
  const Current current(context);
  HR_TRY(current.status());
  lane_ = way == Way::kOut ? 1 : 0;
  if (ranges.size() == 1 && ranges[0].bytes <= knobs().device_resident_copy_bytes && !context.time_sliced()) {
    if (begin_resident(way, context, ranges[0])) return kOk;
    context.resident_copier().launch(ranges[0].bytes);
  }
  return move_ranges(way, context, ranges);
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
                                 const Range range{resident_copy_.target(), resident_copy_.source(),
                                                   resident_copy_.bytes()};
                                 return move_ranges(Way::kIn, context, {&range, 1});  // from one to the other
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
