#include "mem/device/host_copy.hpp"

#include <algorithm>
#include <cstring>

#include "mem/device/pinned_staging.hpp"

namespace hr::mem::device {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

DeviceAddress address_of(const void* host) noexcept { return reinterpret_cast<std::uintptr_t>(host); }

// True if the device's side is mapped to its end. Otherwise that side may have caused the failure of a copy, and the
// CPU must not copy that many bytes.
bool ends_in_memory(DeviceAddress device, std::size_t bytes) noexcept {
  int mapped = 0;
  return driver().pointer_get_attribute(&mapped, kAttributeMapped, device + bytes - 1) == kSuccess && mapped != 0;
}

// Calls move(offset, bytes, staging) for each piece.
template <class Move>
Status in_pieces(Context& context, std::size_t bytes, const Move& move) {
  PinnedStaging staging;
  HR_TRY(staging.take(context, std::min(bytes, kPiece)));
  for (std::size_t done = 0; done < bytes; done += kPiece) {
    HR_TRY(move(done, std::min(kPiece, bytes - done), staging));
  }
  return kOk;
}

}  // namespace

Status start_copy_from_host(Context& context, DeviceAddress to, const void* from, std::size_t bytes) {
  const Result result = driver().copy_async(to, address_of(from), bytes, context.stream());
  if (result != kInvalidValue || !ends_in_memory(to, bytes)) {
    return report(result, "copy_async", context.device(), "%zu bytes from host memory %p to %#llx", bytes, from, to);
  }
  return in_pieces(context, bytes, [&](std::size_t at, std::size_t length, const PinnedStaging& staging) {
    std::memcpy(staging.data(), static_cast<const std::byte*>(from) + at, length);
    HR_DEVICE(context.device(), copy_async, (to + at, staging.address(), length, context.stream()),
              "%zu bytes from host memory %p to %#llx", bytes, from, to);
    return context.synchronize("a copy to the device");
  });
}

Status start_copy_to_host(Context& context, void* to, DeviceAddress from, std::size_t bytes) {
  const Result result = driver().copy_async(address_of(to), from, bytes, context.stream());
  if (result != kInvalidValue || !ends_in_memory(from, bytes)) {
    return report(result, "copy_async", context.device(), "%zu bytes from %#llx to host memory %p", bytes, from, to);
  }
  return in_pieces(context, bytes, [&](std::size_t at, std::size_t length, const PinnedStaging& staging) {
    HR_DEVICE(context.device(), copy_async, (staging.address(), from + at, length, context.stream()),
              "%zu bytes from %#llx to host memory %p", bytes, from, to);
    HR_TRY(context.synchronize("a copy from the device"));
    std::memcpy(static_cast<std::byte*>(to) + at, staging.data(), length);
    return kOk;
  });
}

}  // namespace hr::mem::device
