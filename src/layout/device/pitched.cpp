#include "layout/device/pitched.hpp"

namespace hr::layout::device {
namespace {

using mem::device::DeviceAddress;

// The copy engine takes time for each row. For more rows than this, it is used only if the rows are long enough.
constexpr std::size_t kFewRows = 16384;
constexpr std::size_t kLongRow = 128;
// A limit of the driver (CU_DEVICE_ATTRIBUTE_MAX_PITCH).
constexpr std::int64_t kMaxPitch = 0x7fffffff;

struct Rows {
  DeviceAddress address = 0;
  std::size_t length = 0;  // 0: contiguous, of any length
  std::size_t pitch = 0;
};

bool rows_of(const SideShape& side, Rows* rows) noexcept {
  rows->address = side.address;
  if (side.linear()) return side.first == 0;
  if (side.blocks != 0) return false;
  std::int64_t pitch = 0;
  for (int d = 0; d < side.ndims; ++d) {
    if (side.dims[d].count == 1) continue;
    if (pitch != 0) return false;
    pitch = side.dims[d].stride;
  }
  rows->length = static_cast<std::size_t>(side.pattern);
  rows->pitch = static_cast<std::size_t>(pitch);
  return pitch <= kMaxPitch && pitch >= static_cast<std::int64_t>(side.pattern);
}

}  // namespace

Status start_pitched(mem::device::Context& context, mem::device::StreamHandle stream, const SideShape& from,
                     const SideShape& to, std::size_t bytes, bool* started) {
  *started = false;
  Rows source, target;
  if (!rows_of(from, &source) || !rows_of(to, &target)) return kOk;
  const std::size_t length = source.length != 0 ? source.length : target.length;
  if (length == 0 || (target.length != 0 && target.length != length) || bytes % length != 0) return kOk;
  const std::size_t count = bytes / length;
  if (count > kFewRows && length < kLongRow) return kOk;

  mem::device::PitchedCopy copy;
  copy.source = source.address;
  copy.source_pitch = source.length != 0 ? source.pitch : length;
  copy.target = target.address;
  copy.target_pitch = target.length != 0 ? target.pitch : length;
  copy.width = length;
  copy.height = count;
  HR_DEVICE(context.device(), copy_pitched_async, (&copy, stream), "%zu rows of %zu bytes", count, length);
  *started = true;
  return kOk;
}

}  // namespace hr::layout::device
