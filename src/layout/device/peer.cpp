#include "layout/device/peer.hpp"

#include <cstring>

#include "base/knobs.hpp"
#include "layout/device/peer_side.hpp"
#include "layout/device/pitched.hpp"
#include "layout/device/resident_copy.hpp"
#include "mem/device/host_copy.hpp"

namespace hr::layout::device {

using mem::device::Context;
using mem::device::Current;
using mem::device::DeviceAddress;
using mem::device::Export;

bool is_contiguous(const std::byte* described) noexcept {
  decltype(PeerView::contiguous) contiguous = 0;
  std::memcpy(&contiguous, described + offsetof(PeerView, contiguous), sizeof contiguous);
  return contiguous != 0;
}

Status describe_view(const View& view, int process, PeerView* described) {
  HR_TRY(mem::device::export_to({&process, 1}, view.where, addresses_of(view), &described->data));
  Context* home = nullptr;
  HR_TRY(Context::of(view.where, &home));
  described->locality = home->locality();
  described->list.id = 0;
  described->contiguous = view.contiguous ? 1 : 0;
  if (view.contiguous) {
    described->address = reinterpret_cast<std::uintptr_t>(view.data());
    return kOk;
  }
  mem::Location list;
  HR_TRY(side_for_peers(view, &described->side, &list));
  if (list.id == 0) return kOk;
  return mem::device::export_to(process, list, &described->list);
}

Status PeerCopy::map(Context& context, int process, const Export& what, std::size_t slot, std::uint64_t* moved_by) {
  HR_TRY(mem::device::map_import(context, process, what, &mappings_[slot]));
  *moved_by = mem::device::base_of(*mappings_[slot]) - what.base;
  return kOk;
}

Status PeerCopy::prepare(Context& context, const PeerView& from, int process, const View& to) {
  if ((from.contiguous == 0 || !to.contiguous) && !has_copy_kernels(context)) {
    return fail(Errc::kUnsupportedOperation, "the library has no kernels for device %d", context.device());
  }
  process_ = process;
  source_locality_ = from.locality;
  std::uint64_t moved_by = 0;
  HR_TRY(map(context, process, from.data, 0, &moved_by));
  source_ = from.contiguous != 0 ? packed_side(from.address, 0) : from.side;
  source_.address += moved_by;
  if (source_.linear() || from.list.id == 0) return kOk;
  HR_TRY(map(context, process, from.list, 1, &moved_by));
  source_.blocks += moved_by;
  source_.index += moved_by;
  return kOk;
}

bool PeerCopy::try_resident_copy(Context& context, DeviceAddress to, std::size_t bytes) {
  if (bytes > knobs().device_resident_copy_bytes) return false;
  if (Context::share_time_sliced(source_locality_, context.locality())) {
    context.resident_copier().disable();  // the sender's work also needs this device
    return false;
  }
  return resident_copy_.begin(context, to, source_.address, bytes);
}

Status PeerCopy::start_contiguous(Context& context, DeviceAddress to, bool to_host, std::size_t bytes) {
  mem::device::StreamHandle stream = nullptr;
  HR_TRY(context.copy_stream(process_, &stream));
  const mem::device::Result result = mem::device::driver().copy_async(to, source_.address, bytes, stream);
  // The driver does not accept the target as a single range: it is no longer registered to its end, or parts of it are
  // not registered for this device.
  if (result == mem::device::kInvalidValue && to_host) {
    HR_TRY(mem::device::start_copy_to_host(context, reinterpret_cast<void*>(static_cast<std::uintptr_t>(to)),
                                           source_.address, bytes));
    return work_event_.record(context, context.stream());
  }
  if (result == mem::device::kInvalidValue) {
    return fail(Errc::kUnsupportedOperation, "a copy on device %d failed: %s; %zu bytes from rank %d to %#zx",
                context.device(), mem::device::error_text(result).name, bytes, process_, static_cast<std::size_t>(to));
  }
  HR_TRY(mem::device::report(result, "copy_async", context.device(), "%zu bytes from rank %d to %#zx", bytes, process_,
                             static_cast<std::size_t>(to)));
  return work_event_.record(context, stream);
}

Status PeerCopy::start(Context& context, const View& to, std::size_t bytes) {
  if (source_.linear() && to.contiguous) {
    const auto target = reinterpret_cast<std::uintptr_t>(to.data());
    if (to.where.is_device() && try_resident_copy(context, target, bytes)) return kOk;
    return start_contiguous(context, target, to.where.is_host(), bytes);
  }
  mem::device::StreamHandle stream = nullptr;
  HR_TRY(context.copy_stream(process_, &stream));
  SideShape target;
  HR_TRY(side_of(to, context, &target));
  bool started = false;
  HR_TRY(start_pitched(context, stream, source_, target, bytes, &started));
  if (started) return work_event_.record(context, stream);
  HR_TRY(launch_copy(context, context.stream(), source_, target, 0, bytes, &started));
  return work_event_.record(context, context.stream());
}

Status PeerCopy::prepare(const PeerView& from, int process, const View& to) {
  Context* context = nullptr;
  HR_TRY(Context::of(to.where, &context));
  Current current(*context);
  HR_TRY(current.status());
  return prepare(*context, from, process, to);
}

Status PeerCopy::start(const View& to, std::size_t bytes) {
  Context* context = nullptr;
  HR_TRY(Context::of(to.where, &context));
  Current current(*context);
  HR_TRY(current.status());
  return start(*context, to, bytes);
}

Status PeerCopy::fetch(const PeerView& from, int process, const View& to, std::size_t bytes) {
  Context* context = nullptr;
  HR_TRY(Context::of(to.where, &context));
  Current current(*context);
  HR_TRY(current.status());
  HR_TRY(prepare(*context, from, process, to));
  return start(*context, to, bytes);
}

Status PeerCopy::poll(bool* done) {
  const Status status = resident_copy_.active()
                            ? poll_resident_copy(resident_copy_, done,
                                                 [&](Context& context) {
                                                   return start_contiguous(context, resident_copy_.target(), false,
                                                                           resident_copy_.bytes());
                                                 })
                            : work_event_.poll("a copy from another process", done);
  if (*done) unpin();
  return status;
}

void PeerCopy::unpin() noexcept {
  for (mem::device::Mapping*& mapping : mappings_) {
    if (mapping != nullptr) mem::device::unpin(mapping);
    mapping = nullptr;
  }
}

PeerCopy::~PeerCopy() { unpin(); }

}  // namespace hr::layout::device
