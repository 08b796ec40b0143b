// Waiting while a transport starts or ends, outside the engine's rounds of progress.
//
// Threads: library lock.
#pragma once

#include <sched.h>

#include "boot/boot.hpp"
#include "transport/network/channels.hpp"
#include "transport/transport.hpp"

namespace hr::transport::network {

// Makes progress until done() is true, yielding the core to others.
template <class Done>
void wait_until(Transport& transport, Done&& done) {
  constexpr double kSleepSeconds = 200e-6;
  while (!done()) {
    if (transport.progress()) continue;
    ::sched_yield();
    if (transport.progress() || !transport.can_sleep()) continue;
    if (const auto armed = transport.arm()) transport.sleep(*armed, kSleepSeconds);
  }
}

// Waits until all processes of the job have reached this point. Meanwhile, receives messages, also on channels. Errors:
// those of the launcher.
inline Status wait_for_all(Transport& transport) {
  Status status = kOk;
  HR_TRY(boot::begin_fence());
  bool everybody = false;
  wait_until(transport, [&] {
    if (poll_channels != nullptr) poll_channels();
    status = boot::fence_done(&everybody);
    return everybody || !status.ok();
  });
  return status;
}

}  // namespace hr::transport::network
