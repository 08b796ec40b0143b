// ChunkCopy: moves a part of a view's packed form between the view and staging memory, with one copy or one kernel on
// the view's device, or with the device's resident copy kernel (mem/device/resident_copier.hpp) if that is running and
// both the view and the staging memory are device memory.
//
// Owner: the code that started the copy; the object must exist until poll() has reported that the copy is done (an
// import is pinned until then). Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "layout/view.hpp"
#include "mem/device/ipc.hpp"
#include "mem/device/pinned.hpp"
#include "mem/device/resident_copier.hpp"
#include "mem/device/work_event.hpp"

namespace hr::layout::device {

// True if a device can move this (device or managed) view without the CPU: it is contiguous, or there are kernels.
[[nodiscard]] bool movable(const View& view);
// True if another process shares the device of this view, and the two are time-sliced.
[[nodiscard]] bool time_sliced(const View& view);
// Pins shared host memory for copies of views like this one.
Status pin(const View& view, std::span<std::byte> memory, mem::device::PinnedRange* pinned);
// Maps memory of another process for later copies. Errors: the view's device cannot read it.
Status map_peer_memory(const View& view, int process, const mem::device::Export& memory);

class ChunkCopy {
 public:
  ChunkCopy() = default;
  ~ChunkCopy() { unpin(); }
  ChunkCopy(const ChunkCopy&) = delete;
  ChunkCopy& operator=(const ChunkCopy&) = delete;

  // Starts to move packed bytes [first, first + bytes). `chunk`: their address in staging memory, for the view's
  // device; fastest if it is 16-byte aligned and `first` a multiple of 16. `in`: the kind of chunk; rows
  // (mem/device/two_rows.hpp) only for contiguous views.
  enum class In : std::uint8_t { kDevice, kPinned, kPinnedRows };
  Status pack(const View& from, std::size_t first, std::size_t bytes, mem::device::DeviceAddress chunk, In in,
              int process);
  Status unpack(const View& to, std::size_t first, std::size_t bytes, mem::device::DeviceAddress chunk, In in,
                int process);
  // unpack() from a chunk `at` bytes into an allocation of another process.
  Status unpack(const View& to, std::size_t first, std::size_t bytes, const mem::device::Export& memory, std::size_t at,
                int process);

  // Does the same for whole ranges of device memory; poll() reports the end of all of them together. `rows`: the range
  // is laid out as rows in staging memory. A single short range is left to the resident copy kernel; if that does not
  // run, it is launched for the following copies.
  enum class Way { kOut, kIn };  // out of the device's memory, or into it
  struct Range {
    mem::device::DeviceAddress device = 0;
    mem::device::DeviceAddress staging = 0;
    std::size_t bytes = 0;
    bool rows = false;
  };
  Status move(Way way, mem::device::Context& context, std::span<const Range> ranges);

  [[nodiscard]] bool under_way() const noexcept { return resident_copy_.active() || work_event_.recorded(); }
  Status poll(bool* done);

 private:
  Status move(Way way, const View& view, std::size_t first, std::size_t bytes, mem::device::Context& context,
              mem::device::DeviceAddress chunk, In in, int process);
  bool begin_resident(Way way, mem::device::Context& context, const Range& range);
  Status move_ranges(Way way, mem::device::Context& context, std::span<const Range> ranges);
  void unpin() noexcept;

  mem::device::WorkEvent work_event_;
  mem::device::ResidentCopy resident_copy_;
  int lane_ = 0;
  mem::device::Mapping* mapping_ = nullptr;
};

}  // namespace hr::layout::device
