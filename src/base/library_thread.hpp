// The library's threads, which leave the program's signals to the program's threads.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <cstddef>

namespace hr {

// Starts a thread that may run any code of the library: its stack is large enough even if `ulimit -s` limits the stacks
// of threads. Returns pthread_create()'s result.
inline int start_library_thread(pthread_t* thread, void* (*run)(void*), void* argument) noexcept {
  constexpr std::size_t kLeastStack = std::size_t{1} << 20;
  pthread_attr_t attributes;
  std::size_t stack = 0;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_getstacksize(&attributes, &stack);
  ::pthread_attr_setstacksize(&attributes, std::max(stack, kLeastStack));
  const int error = ::pthread_create(thread, &attributes, run, argument);
  ::pthread_attr_destroy(&attributes);
  return error;
}

// Calls `start` with all signals blocked; a thread that it starts inherits that.
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
