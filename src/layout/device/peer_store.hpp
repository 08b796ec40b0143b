// PeerStore: a single copy from pinned memory of this process directly into a contiguous view on a device in another
// process.
//
// Owner: the code that started the copy; the object must exist until poll() has reported that the copy is done (the
// mapping is pinned until then). Threads: library lock.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "layout/device/peer.hpp"
#include "mem/device/ipc.hpp"
#include "mem/device/work_event.hpp"

namespace hr::layout::device {

class PeerStore {
 public:
  PeerStore() = default;
  ~PeerStore() { unpin(); }
  PeerStore(const PeerStore&) = delete;
  PeerStore& operator=(const PeerStore&) = delete;

  // Starts to store the first `bytes` of `from`, which is contiguous; does not wait. Errors:
  // MPI_ERR_UNSUPPORTED_OPERATION if the memory cannot be mapped here.
  Status start(const View& from, const PeerView& to, int process, std::size_t bytes);
  Status poll(bool* done);

 private:
  void unpin() noexcept;

  mem::device::Mapping* mapping_ = nullptr;
  mem::device::WorkEvent work_event_;
};

}  // namespace hr::layout::device
