// mem::copy: contiguous copies between all kinds of memory.
#include <algorithm>
#include <cstring>

#include "mem/device/device_buffer.hpp"
#include "mem/device/host_copy.hpp"
#include "mem/device/pinned_staging.hpp"
#include "mem/device/two_rows.hpp"
#include "mem/mem.hpp"

namespace hr::mem {
namespace {

using device::Context;
using device::Current;
using device::DeviceAddress;

DeviceAddress device_address(const void* pointer) noexcept { return reinterpret_cast<std::uintptr_t>(pointer); }

const char* kind_name(const Location& where) noexcept {
  switch (where.kind) {
    case Kind::kHost:
      return where.pinned ? "pinned host" : "host";
    case Kind::kManaged:
      return "managed";
    case Kind::kDevice:
      return "device";
  }
  return "?";
}

// Both perform short copies between host memory and a time-sliced device, with a copy engine and through pinned memory.
Status copy_in_short(Context& context, void* to, const void* from, std::size_t bytes) {
  const device::TwoRows rows{bytes};
  device::PinnedStaging staging;
  HR_TRY(staging.take(context, rows.span()));
  rows.lay_out(static_cast<const std::byte*>(from), staging.data());
  HR_TRY(rows.start_in(context, context.stream(), staging.address(), device_address(to)));
  return context.synchronize("a copy to the device");
}

Status copy_out_short(Context& context, void* to, const void* from, std::size_t bytes) {
  device::PinnedStaging staging;
  HR_TRY(staging.take(context, bytes));
  HR_DEVICE(context.device(), copy_async, (staging.address(), device_address(from), bytes, context.stream()),
            "%zu bytes from %p", bytes, from);
  HR_TRY(context.synchronize("a copy from the device"));
  std::memcpy(to, staging.data(), bytes);
  return kOk;
}

// Copies with the engine of the only context involved: only one side is on a device, or both are in the same context.
Status copy_within(Context& context, void* to, const Location& to_where, const void* from, const Location& from_where,
                   std::size_t bytes) {
  Current current(context);
  HR_TRY(current.status());
  if (context.time_sliced() && device::TwoRows::serves(bytes)) {
    if (from_where.is_host()) return copy_in_short(context, to, from, bytes);
    if (to_where.is_host() && !to_where.pinned) return copy_out_short(context, to, from, bytes);
  }
  if (from_where.is_host()) {
    HR_TRY(device::start_copy_from_host(context, device_address(to), from, bytes));
  } else if (to_where.is_host()) {
    HR_TRY(device::start_copy_to_host(context, to, device_address(from), bytes));
  } else {
    HR_DEVICE(context.device(), copy_async, (device_address(to), device_address(from), bytes, context.stream()),
              "%zu bytes from %s memory %p to %s memory %p", bytes, kind_name(from_where), from, kind_name(to_where),
              to);
  }
  return context.synchronize("a copy");
}

// Copies between memory of two contexts. The driver's peer copy needs memory that belongs to a context on both sides.
// Pool and VMM memory does not, and its owner decides whether the peer may access it; so such a side is staged in the
// library's memory on its device, one piece at a time.
Status copy_between(Context& to_context, Context& from_context, DeviceAddress to, bool stage_to, DeviceAddress from,
                    bool stage_from, std::size_t bytes) {
  HR_TRY(to_context.order_after(from_context));
  const std::size_t piece_bytes = stage_to || stage_from ? std::min(bytes, device::staging_piece()) : bytes;
  Current outer(from_context);
  HR_TRY(outer.status());
  device::Staging from_staging;
  if (stage_from) HR_TRY(from_staging.take(from_context, piece_bytes));
  Current current(to_context);
  HR_TRY(current.status());
  device::Staging to_staging;
  if (stage_to) HR_TRY(to_staging.take(to_context, piece_bytes));
  for (std::size_t done = 0; done < bytes; done += piece_bytes) {
    const std::size_t piece = std::min(piece_bytes, bytes - done);
    DeviceAddress source = from + done;
    DeviceAddress target = to + done;
    if (stage_from) {
      Current sending(from_context);
      HR_TRY(sending.status());
      HR_DEVICE(from_context.device(), copy_async, (from_staging.address(), source, piece, from_context.stream()),
                "%zu bytes from %#llx to staging", piece, source);
      HR_TRY(from_context.synchronize("a copy to staging"));
      source = from_staging.address();
    }
    if (stage_to) target = to_staging.address();
    HR_DEVICE(to_context.device(), copy_peer_async,
              (target, to_context.handle(), source, from_context.handle(), piece, to_context.stream()),
              "%zu bytes from %#llx on device %d to %#llx", piece, from + done, from_context.device(), to + done);
    if (stage_to) {
      HR_DEVICE(to_context.device(), copy_async, (to + done, target, piece, to_context.stream()),
                "%zu bytes from staging to %#llx", piece, to + done);
    }
    HR_TRY(to_context.synchronize("a copy between devices"));
  }
  return kOk;
}

}  // namespace

Status copy(void* to, const Location& to_where, const void* from, const Location& from_where, std::size_t bytes) {
  if (bytes == 0) return kOk;
  if (!to_where.is_device() && !from_where.is_device()) {
    std::memcpy(to, from, bytes);
    return kOk;
  }
  Context* to_context = nullptr;
  Context* from_context = nullptr;
  if (to_where.is_device()) HR_TRY(Context::of(to_where, &to_context));
  if (from_where.is_device()) HR_TRY(Context::of(from_where, &from_context));
  if (to_context == nullptr) return copy_within(*from_context, to, to_where, from, from_where, bytes);
  if (from_context == nullptr || from_context == to_context) {
    return copy_within(*to_context, to, to_where, from, from_where, bytes);
  }
  return copy_between(*to_context, *from_context, device_address(to), to_where.context == nullptr || to_where.managed,
                      device_address(from), from_where.context == nullptr || from_where.managed, bytes);
}

}  // namespace hr::mem
