// Fence: marks the work that the program has put on the legacy default stream before a call; polled for its completion.
//
// First, the default stream itself is queried, once for calls in close succession
// (base/driver_epoch.hpp): usually it is idle, or soon will be. But it also counts as busy while any other blocking
// stream has work, which is irrelevant for a message. So if it stays busy, the fence becomes a number that a blocking
// stream of the library, used for nothing else, writes into host memory. The write takes a few microseconds, during
// which the default stream counts as busy again; so it is not made for every message. The knob
// default_stream=ignore makes every fence count as passed. Owner: the operation that must come after that work.
// Threads: library lock.
#pragma once

#include "base/status.hpp"
#include "mem/device/context.hpp"

namespace hr::mem::device {

class Fence {
 public:
  // True if no fence is needed now: the default stream of that context is known to be idle, or does not matter.
  [[nodiscard]] static bool needless(const Location& where);
  // Sets the fence after the work that is now on the default stream of the context of `where` (and perhaps after later
  // work).
  Status set(const Location& where);
  // True once the work before the fence is done. On a device in an error state, that work counts as done: the next work
  // there reports the error.
  [[nodiscard]] bool passed();

 private:
  enum class State : std::uint8_t { kPassed, kAsking, kWritten } state_ = State::kPassed;
  [[nodiscard]] State look(Context& context);

  ContextHandle context_ = nullptr;
  std::uint64_t id_ = 0;
  double asking_until_ = 0;
  std::uint32_t number_ = 0;
};

}  // namespace hr::mem::device
