// LocalCopy: copies from one device view of this process to another with one copy or one kernel, without waiting.
//
// Owner: the code that started the copy; the object must exist until poll() has reported that the copy is done.
// Threads: library lock.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "layout/view.hpp"
#include "mem/device/work_event.hpp"

namespace hr::layout::device {

// Starts to move the first `bytes` packed bytes on a stream of the sender's context, which must be current; the copy is
// ordered after the work on the default streams of both. If more than one copy or kernel would be needed, does nothing,
// and *started stays false.
Status start_copy(const View& from, mem::device::Context& from_context, const View& to, std::size_t bytes,
                  mem::device::StreamHandle stream, bool* started);

class LocalCopy {
 public:
  // Starts a copy like start_copy(), on a stream for such copies.
  Status start(const View& from, const View& to, std::size_t bytes, bool* started);
  Status poll(bool* done) { return work_event_.poll("a copy on the device", done); }

 private:
  mem::device::WorkEvent work_event_;
};

}  // namespace hr::layout::device
