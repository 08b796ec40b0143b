// TwoRows: lays out short contiguous data in pinned memory so that a copy engine copies it to a device.
//
// The driver makes a short copy of contiguous host memory through the multiprocessors' queue. If processes are
// time-sliced on a GPU (Context::time_sliced()), such a copy waits until the device has switched to this process. The
// driver leaves a copy of separate rows to a copy engine, whatever their length. So the bytes are put into two rows,
// and, if their number is odd, the last one separately (docs/adr/0020-time-sliced-gpu.md). Owner: none; the memory is
// the caller's. Threads: library lock.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "mem/device/context.hpp"

namespace hr::mem::device {

struct TwoRows {
  // A copy engine makes longer copies anyway; a single byte cannot be split into two rows.
  static constexpr std::size_t kBelow = 32768;

  std::size_t bytes = 0;

  [[nodiscard]] static constexpr bool serves(std::size_t bytes) noexcept { return bytes >= 2 && bytes < kBelow; }
  [[nodiscard]] constexpr std::size_t width() const noexcept { return bytes / 2; }
  // Greater than the width; otherwise the driver would see contiguous data.
  [[nodiscard]] constexpr std::size_t pitch() const noexcept { return (width() + 127) / 64 * 64; }
  [[nodiscard]] constexpr bool odd() const noexcept { return bytes % 2 != 0; }
  [[nodiscard]] constexpr std::size_t last() const noexcept { return 2 * pitch(); }  // offset of the last byte, if odd
  // Size in bytes of the memory that the rows need.
  [[nodiscard]] constexpr std::size_t span() const noexcept { return last() + 64; }

  // Copies the data at `run` into the rows with the CPU.
  void lay_out(const std::byte* run, std::byte* rows) const noexcept;
  // Both start a copy, from device memory to rows or from rows to device memory, and do not wait. The context must be
  // current.
  Status start_out(Context& context, StreamHandle stream, DeviceAddress run, DeviceAddress rows) const;
  Status start_in(Context& context, StreamHandle stream, DeviceAddress rows, DeviceAddress run) const;
};

}  // namespace hr::mem::device
