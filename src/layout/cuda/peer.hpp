// Copies between a view in another process and a view in this one, straight from one to the other: one copy or one
// kernel, run here.
//
// The other process announces its view (PeerView, which travels in a message); this one starts a PeerCopy, from it or
// to it.
// Owner: a PeerCopy belongs to whoever started it and must stay until poll() has said that it is done (the mappings
// it uses are pinned until then). Threads: library lock.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "layout/cuda/side.hpp"
#include "layout/view.hpp"
#include "mem/cuda/ipc.hpp"
#include "mem/cuda/ticket.hpp"

namespace hr::layout::cuda {

// A view for other processes. Trivially copyable. A contiguous one needs kContiguousBytes of it only.
struct PeerView {
  mem::cuda::Export data;
  std::uint64_t address = 0;     // contiguous: of the data, in its owner
  std::uint64_t contiguous = 1;  // 0: what follows counts
  SideShape side;
  mem::cuda::Export list;  // memory of the block list, where there is one

  static const std::size_t kContiguousBytes;
  // Contiguous, or in runs of a size that copies well in either direction; scattered data is better fetched than put,
  // as a store of a few bytes takes as much of a link as one of a line.
  [[nodiscard]] bool coarse() const noexcept { return contiguous != 0 || (side.blocks == 0 && side.pattern >= 128); }
  [[nodiscard]] std::size_t wire_bytes() const noexcept {
    return contiguous != 0 ? kContiguousBytes : sizeof(PeerView);
  }
};
inline constexpr std::size_t PeerView::kContiguousBytes = offsetof(PeerView, side);

// MPI_ERR_UNSUPPORTED_OPERATION where the memory has no IPC handle.
Status announce(const View& view, int process, PeerView* announced);

class PeerCopy {
 public:
  PeerCopy() = default;
  ~PeerCopy();
  PeerCopy(const PeerCopy&) = delete;
  PeerCopy& operator=(const PeerCopy&) = delete;

  // Maps the other process's memory. `own` is on a device or managed. MPI_ERR_UNSUPPORTED_OPERATION where it cannot be
  // mapped or, for derived types, this library has no kernels.
  Status prepare(const PeerView& other, int process, const View& own);
  // Start moving the first `bytes` packed bytes between what was prepared and the same view as then; do not wait.
  Status fetch(const View& to, std::size_t bytes) { return start(to, bytes, true); }
  Status put(const View& from, std::size_t bytes) { return start(from, bytes, false); }
  Status poll(bool* done);

 private:
  Status map(mem::cuda::Context& context, int process, const mem::cuda::Export& what, std::size_t slot,
             std::uint64_t* moved_by);
  Status start(const View& own, std::size_t bytes, bool fetching);
  void unpin() noexcept;

  mem::cuda::Mapping* mappings_[2] = {};  // data, block list
  SideShape other_;                       // as mapped here
  int process_ = -1;
  mem::cuda::Ticket ticket_;
};

}  // namespace hr::layout::cuda
