// Threads of the library leave the program's signals to the program's threads.
#pragma once

#include <pthread.h>

#include <csignal>

namespace hr {

// Calls `start` with all signals blocked: so they are in a thread that it begins.
template <class Start>
auto with_signals_blocked(Start&& start) {
  class Blocked {
   public:
    Blocked() noexcept {
      sigset_t all;
      ::sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~Blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    Blocked(const Blocked&) = delete;
    Blocked& operator=(const Blocked&) = delete;

   private:
    sigset_t before_;
  };
  const Blocked blocked;
  return start();
}

}  // namespace hr
