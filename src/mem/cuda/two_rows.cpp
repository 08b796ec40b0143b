#include "mem/cuda/two_rows.hpp"

#include <cstring>

namespace hr::mem::cuda {

void TwoRows::lay_out(const std::byte* run, std::byte* rows) const noexcept {
  std::memcpy(rows, run, width());
  std::memcpy(rows + pitch(), run + width(), width());
  if (odd()) rows[last()] = run[bytes - 1];
}

Status TwoRows::start_out(Context& context, StreamHandle stream, DeviceAddress run, DeviceAddress rows) const {
  PitchedCopy copy;
  copy.source = run;
  copy.source_pitch = width();
  copy.target = rows;
  copy.target_pitch = pitch();
  copy.width = width();
  copy.height = 2;
  HR_CUDA(context.device(), copy_pitched_async, (&copy, stream), "%zu bytes from %#llx", bytes, run);
  if (odd()) {
    HR_CUDA(context.device(), copy_async, (rows + last(), run + bytes - 1, 1, stream), "a byte from %#llx", run);
  }
  return kOk;
}

Status TwoRows::start_in(Context& context, StreamHandle stream, DeviceAddress rows, DeviceAddress run) const {
  PitchedCopy copy;
  copy.source = rows;
  copy.source_pitch = pitch();
  copy.target = run;
  copy.target_pitch = width();
  copy.width = width();
  copy.height = 2;
  HR_CUDA(context.device(), copy_pitched_async, (&copy, stream), "%zu bytes to %#llx", bytes, run);
  if (odd()) {
    // The first byte once more, and the last.
    copy.source_pitch = last();
    copy.target_pitch = bytes - 1;
    copy.width = 1;
    HR_CUDA(context.device(), copy_pitched_async, (&copy, stream), "a byte to %#llx", run);
  }
  return kOk;
}

}  // namespace hr::mem::cuda
