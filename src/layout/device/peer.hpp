// Copies from a view in another process directly into a view in this one: with one copy or one kernel of this process,
// or with the resident copy kernel (mem/device/resident_copier.hpp).
//
// The owner of the data describes its view (PeerView, which travels in a message); the other process starts a PeerCopy.
// Owner: a PeerCopy belongs to the code that started it and must exist until poll() has reported that it is done (its
// mappings are pinned until then). Threads: library lock.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "layout/device/side.hpp"
#include "layout/view.hpp"
#include "mem/device/ipc.hpp"
#include "mem/device/resident_copier.hpp"
#include "mem/device/work_event.hpp"

namespace hr::layout::device {

// Description of a view for other processes. Trivially copyable. For a contiguous view only the first kContiguousBytes
// are sent.
struct PeerView {
  mem::device::Export data;
  std::uint64_t locality = 0;    // locality of the device that holds the data (Context::locality())
  std::uint64_t address = 0;     // contiguous: address of the data in its owner
  std::uint64_t contiguous = 1;  // 0: not contiguous, and the fields below are valid
  SideShape side;
  mem::device::Export list;  // allocation of the block list, if there is one

  static const std::size_t kContiguousBytes;
  [[nodiscard]] std::size_t wire_bytes() const noexcept {
    return contiguous != 0 ? kContiguousBytes : sizeof(PeerView);
  }
};
inline constexpr std::size_t PeerView::kContiguousBytes = offsetof(PeerView, side);

// True if a PeerView in a message is contiguous.
[[nodiscard]] bool is_contiguous(const std::byte* described) noexcept;
// Describes a view for `process`. Errors: MPI_ERR_UNSUPPORTED_OPERATION if the memory cannot be exported.
Status describe_view(const View& view, int process, PeerView* described);

class PeerCopy {
 public:
  PeerCopy() = default;
  ~PeerCopy();
  PeerCopy(const PeerCopy&) = delete;
  PeerCopy& operator=(const PeerCopy&) = delete;

  // Maps the memory of `from`. `to` is on a device, or contiguous and pinned. Errors: MPI_ERR_UNSUPPORTED_OPERATION if
  // the memory cannot be mapped or, for derived types, there are no kernels.
  Status prepare(const PeerView& from, int process, const View& to);
  // Starts moving the first `bytes` packed bytes of the prepared view; does not wait.
  Status start(const View& to, std::size_t bytes);
  // Does both: prepare() and start().
  Status fetch(const PeerView& from, int process, const View& to, std::size_t bytes);
  Status poll(bool* done);

 private:
  Status map(mem::device::Context& context, int process, const mem::device::Export& what, std::size_t slot,
             std::uint64_t* moved_by);
  Status prepare(mem::device::Context& context, const PeerView& from, int process, const View& to);
  Status start(mem::device::Context& context, const View& to, std::size_t bytes);
  Status start_contiguous(mem::device::Context& context, mem::device::DeviceAddress to, bool to_host,
                          std::size_t bytes);
  bool try_resident_copy(mem::device::Context& context, mem::device::DeviceAddress to, std::size_t bytes);
  void unpin() noexcept;

  mem::device::Mapping* mappings_[2] = {};  // data, block list
  SideShape source_;                        // the sender's side, as mapped here
  int process_ = -1;
  std::uint64_t source_locality_ = 0;
  mem::device::ResidentCopy resident_copy_;
  mem::device::WorkEvent work_event_;
};

}  // namespace hr::layout::device
