#include "rma/direct.hpp"

#include "base/lock.hpp"
#include "p2p/channel.hpp"
#include "p2p/channel_pace.hpp"

namespace hr::rma::direct {

void serve_others(bool polls) {
  calls = 0;
  // In a callback of the program, the thread may hold the library lock.
  const int depth = LibraryLock::suspend();
  static_cast<void>(p2p::channels::progress_others());
  if (polls) p2p::channels::pause_after_test();
  LibraryLock::resume(depth);
}

}  // namespace hr::rma::direct
