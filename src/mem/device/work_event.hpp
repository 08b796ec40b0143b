// WorkEvent: the completion of work enqueued on a stream of a Context, to be polled.
//
// Nothing here waits or synchronises a stream. Events are taken from the context's free list and returned to it. Owner:
// the code that started the work; a WorkEvent dropped early leaves the work running. Not movable while recorded.
// Threads: library lock; any thread may poll.
#pragma once

#include "base/status.hpp"
#include "mem/device/context.hpp"

namespace hr::mem::device {

class WorkEvent {
 public:
  WorkEvent() = default;
  ~WorkEvent();
  WorkEvent(const WorkEvent&) = delete;
  WorkEvent& operator=(const WorkEvent&) = delete;

  // Records the event after all work enqueued so far on `stream`, one of the context's own. The context must be
  // current.
  Status record(Context& context, StreamHandle stream);
  [[nodiscard]] bool recorded() const noexcept { return event_ != nullptr; }
  // *done: true if the work is complete and its effects are visible to every stream, the CPU and peers. A failure of
  // the work is an error, and the work counts as done. `what` names the work in the error message. Queries the driver
  // only if no later event of the stream has been seen complete: of several events, poll the latest first.
  Status poll(const char* what, bool* done);

 private:
  void drop() noexcept;

  ContextHandle context_ = nullptr;
  StreamHandle stream_ = nullptr;
  std::uint64_t record_ = 0;  // its number in the context
  std::uint64_t id_ = 0;
  int device_ = -1;
  EventHandle event_ = nullptr;
};

}  // namespace hr::mem::device
