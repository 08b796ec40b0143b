#include "mem/device/two_rows.hpp"

#include <cstring>

namespace hr::mem::device {
namespace {

PitchedCopy two_rows(std::size_t width, DeviceAddress from, std::size_t from_pitch, DeviceAddress to,
                     std::size_t to_pitch) noexcept {
  PitchedCopy copy;
  copy.source = from;
  copy.source_pitch = from_pitch;
  copy.target = to;
  copy.target_pitch = to_pitch;
  copy.width = width;
  copy.height = 2;
  return copy;
}

}  // namespace

void TwoRows::lay_out(const std::byte* run, std::byte* rows) const noexcept {
  std::memcpy(rows, run, width());
  std::memcpy(rows + pitch(), run + width(), width());
  if (odd()) rows[last()] = run[bytes - 1];
}

Status TwoRows::start_out(Context& context, StreamHandle stream, DeviceAddress run, DeviceAddress rows) const {
  const PitchedCopy copy = two_rows(width(), run, width(), rows, pitch());
  HR_DEVICE(context.device(), copy_pitched_async, (&copy, stream), "%zu bytes from %#llx", bytes, run);
  if (odd()) {
    HR_DEVICE(context.device(), copy_async, (rows + last(), run + bytes - 1, 1, stream), "a byte from %#llx", run);
  }
  return kOk;
}

Status TwoRows::start_in(Context& context, StreamHandle stream, DeviceAddress rows, DeviceAddress run) const {
  PitchedCopy copy = two_rows(width(), rows, pitch(), run, width());
  HR_DEVICE(context.device(), copy_pitched_async, (&copy, stream), "%zu bytes to %#llx", bytes, run);
  if (odd()) {
    // Two rows of one byte each: the first byte once more, and the last.
    copy.source_pitch = last();
    copy.target_pitch = bytes - 1;
    copy.width = 1;
    HR_DEVICE(context.device(), copy_pitched_async, (&copy, stream), "a byte to %#llx", run);
  }
  return kOk;
}

}  // namespace hr::mem::device
