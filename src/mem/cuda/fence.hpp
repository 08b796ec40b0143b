// Fence: stands for the work that the program has put on the legacy default stream before a call; polled.
//
// The default stream itself is asked (1.5 us a time, measured on an H200), once for calls that follow each other
// closely (base/driver_epoch.hpp): mostly it is idle, or soon will be. But it also counts as busy while any blocking
// stream works, the program's other ones and ours, which do not concern a message. So if it stays busy the fence
// becomes a number that a blocking stream of ours, which gets no other work, writes into host memory. Such a write
// takes some microseconds, during which the default stream counts as busy again; so not every message does it. The knob
// default_stream=ignore makes every fence a passed one. Owner: the operation that must come after that work. Threads:
// library lock.
#pragma once

#include "base/status.hpp"
#include "mem/cuda/context.hpp"

namespace hr::mem::cuda {

class Fence {
 public:
  // True if no fence is needed now: the default stream of that context is known to be idle, or does not matter.
  [[nodiscard]] static bool needless(const Location& where);
  // Makes it stand for the work that is on the default stream of the context of `where` now (and perhaps for more
  // later).
  Status set(const Location& where);
  // True once that work is done. A device in an error state counts as done: it shows the error when work is given to
  // it.
  [[nodiscard]] bool passed();

 private:
  enum class State : std::uint8_t { kPassed, kAsking, kWritten } state_ = State::kPassed;
  [[nodiscard]] State look(Context& context);

  ContextHandle context_ = nullptr;
  std::uint64_t id_ = 0;
  double asking_until_ = 0;
  std::uint32_t number_ = 0;
};

}  // namespace hr::mem::cuda
