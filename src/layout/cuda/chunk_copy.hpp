// ChunkCopy: moves a part of a view's packed form between the view and staging memory, by one copy or one kernel of the
// view's device, or by its resident copy kernel (mem/cuda/resident_copier.hpp) if that runs and both are device memory.
//
// Owner: the code that started it; it must exist until poll() has reported that it is done (an import is pinned until
// then). Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "layout/view.hpp"
#include "mem/cuda/ipc.hpp"
#include "mem/cuda/pinned.hpp"
#include "mem/cuda/resident_copier.hpp"
#include "mem/cuda/work_event.hpp"

namespace hr::layout::cuda {

// True if a device can move this (device or managed) view without the CPU: it is contiguous, or there are kernels.
[[nodiscard]] bool movable(const View& view);
// True if the device of this view is shared with another process, and the two are time-sliced.
[[nodiscard]] bool time_sliced(const View& view);
// Pins shared host memory for copies of views like this one.
Status pin(const View& view, std::span<std::byte> memory, mem::cuda::PinnedRange* pinned);
// Maps this memory of another process, for later copies. Errors: the view's device cannot read it.
Status map_peer_memory(const View& view, int process, const mem::cuda::Export& memory);

class ChunkCopy {
 public:
  ChunkCopy() = default;
  ~ChunkCopy() { unpin(); }
  ChunkCopy(const ChunkCopy&) = delete;
  ChunkCopy& operator=(const ChunkCopy&) = delete;

  // Starts to move packed bytes [first, first + bytes). `chunk`: their address in staging memory, for the view's
  // device; fastest if it is 16-byte aligned and `first` a multiple of 16. `in`: the kind of chunk; rows
  // (mem/cuda/two_rows.hpp) only for contiguous views.
  enum class In : std::uint8_t { kDevice, kPinned, kPinnedRows };
  Status pack(const View& from, std::size_t first, std::size_t bytes, mem::cuda::DeviceAddress chunk, In in,
              int process);
  Status unpack(const View& to, std::size_t first, std::size_t bytes, mem::cuda::DeviceAddress chunk, In in,
                int process);
  // Does the same for a chunk `at` bytes into an allocation of another process.
  Status unpack(const View& to, std::size_t first, std::size_t bytes, const mem::cuda::Export& memory, std::size_t at,
                int process);
  Status poll(bool* done);

 private:
  enum class Way { kOut, kIn };
  Status move(Way way, const View& view, std::size_t first, std::size_t bytes, mem::cuda::Context& context,
              mem::cuda::DeviceAddress chunk, In in, int process);
  Status move_contiguous(mem::cuda::Context& context, mem::cuda::DeviceAddress target, mem::cuda::DeviceAddress source,
                         std::size_t bytes);
  void unpin() noexcept;

  mem::cuda::WorkEvent work_event_;
  mem::cuda::ResidentCopy resident_copy_;
  int lane_ = 0;
  mem::cuda::Mapping* mapping_ = nullptr;
};

}  // namespace hr::layout::cuda
