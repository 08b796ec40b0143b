// Copies between a view in another process and a view in this one: one copy or one kernel, run here.
//
// One process announces its view (PeerView, which travels in a message); the other one starts a PeerCopy.
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
  [[nodiscard]] std::size_t wire_bytes() const noexcept {
    return contiguous != 0 ? kContiguousBytes : sizeof(PeerView);
  }
};
inline constexpr std::size_t PeerView::kContiguousBytes = offsetof(PeerView, side);

// MPI_ERR_UNSUPPORTED_OPERATION where the memory has no IPC handle.
Status announce(const View& view, int process, PeerView* announced);

// The view has no list of blocks, which only kernels follow.
[[nodiscard]] bool regular(const View& view) noexcept;
// The copy engine moves `bytes` from one to the other. Then the owner of the data does it in less time than the other
// side: an engine that stores into a peer is quicker than one that reads from it (a kernel the other way round).
[[nodiscard]] bool engine_moves(const PeerView& from, const PeerView& to, std::size_t bytes) noexcept;

class PeerCopy {
 public:
  PeerCopy() = default;
  ~PeerCopy() { release(); }
  PeerCopy(const PeerCopy&) = delete;
  PeerCopy& operator=(const PeerCopy&) = delete;

  enum class Direction : std::uint8_t { kFetch, kPut };

  // Maps the memory. `local` is on a device or managed. MPI_ERR_UNSUPPORTED_OPERATION where it cannot be mapped or, for
  // derived types, this library has no kernels.
  Status prepare(const PeerView& remote, int process, const View& local);
  // Starts moving the first `bytes` packed bytes between what was prepared and `local`; does not wait.
  Status start(Direction direction, const View& local, std::size_t bytes);
  // Both at once.
  Status run(Direction direction, const PeerView& remote, int process, const View& local, std::size_t bytes);
  Status poll(bool* done);
  // Gives up what was prepared and not started.
  void release() noexcept;

 private:
  Status map(mem::cuda::Context& context, int process, const mem::cuda::Export& what, std::size_t slot,
             std::uint64_t* moved_by);
  Status prepare(mem::cuda::Context& context, const PeerView& remote, int process, const View& local);
  Status start(mem::cuda::Context& context, Direction direction, const View& local, std::size_t bytes);

  mem::cuda::Mapping* mappings_[2] = {};  // data, block list
  SideShape remote_;                      // as mapped here
  int process_ = -1;
  mem::cuda::Ticket ticket_;
};

}  // namespace hr::layout::cuda
