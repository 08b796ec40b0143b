// Fence: the work that the program has put on the legacy default stream before a call, to be looked for.
//
// The default stream itself is asked first (1.5 us, measured on an H200): mostly it is idle. It also counts as busy
// while any blocking stream works, the program's own and ours, which are none of a message's business. So then the
// fence is a number that a blocking stream of ours, which nothing else is given to, writes into host memory (about 4
// us): to look for it costs nothing. The knob default_stream=ignore makes every fence a passed one. Owner: the
// operation that must come after that work. Threads: library lock.
#pragma once

#include "base/status.hpp"
#include "mem/cuda/context.hpp"

namespace hr::mem::cuda {

class Fence {
 public:
  // Stands for what is on the default stream of the context of `where` now.
  Status set(const Location& where);
  // That work is done. A device in an error state counts as done: it shows the error when work is given to it.
  [[nodiscard]] bool passed();

 private:
  ContextHandle context_ = nullptr;  // null: nothing to wait for
  std::uint64_t id_ = 0;
  std::uint32_t number_ = 0;
};

}  // namespace hr::mem::cuda
