// Waits for events that no message reports, such as those of a socket or the launcher. Internal to comm/. Threads:
// library lock, released during the wait.
#pragma once

#include <poll.h>

#include <ctime>

#include "base/lock.hpp"
#include "p2p/progress.hpp"

namespace hr::comm {

// Calls done() between rounds of progress until it returns true. After many rounds, also sleeps briefly between rounds,
// so that other threads can use the core.
template <class Done>
void wait_outside(Done&& done) {
  constexpr unsigned kEager = 2000;
  constexpr unsigned kPatient = 20000;
  p2p::PolledWait polled;
  polled.hold(true);
  unsigned rounds = 0;
  const Status always = p2p::wait_until([&] {
    if (done()) return true;
    if (++rounds < kEager) return false;
    const timespec pause{0, rounds < kPatient ? 100'000 : 1'000'000};
    const int depth = LibraryLock::suspend();
    ::ppoll(nullptr, 0, &pause, nullptr);
    LibraryLock::resume(depth);
    return false;
  });
  static_cast<void>(always);
  polled.hold(false);
}

}  // namespace hr::comm
