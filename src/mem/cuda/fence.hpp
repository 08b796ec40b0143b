// Fence: the work that the program has put on the legacy default stream before a call, to be polled.
//
// It is an event on a blocking stream of ours that nothing else is given to. Asking the default stream itself would
// also wait for the program's other blocking streams, and for transfers of ours. Owner: the operation that must come
// after that work. Threads: library lock.
#pragma once

#include "base/status.hpp"
#include "mem/cuda/ticket.hpp"

namespace hr::mem::cuda {

class Fence {
 public:
  // Stands for what is on the default stream of the context of `where` now.
  Status set(const Location& where);
  // That work is done. A device in an error state counts as done: it shows the error when work is given to it.
  [[nodiscard]] bool passed();

 private:
  Ticket ticket_;
};

}  // namespace hr::mem::cuda
