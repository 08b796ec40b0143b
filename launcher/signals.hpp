// The signals that mpiexec handles: blocked, and read from a descriptor in the event loop.
#pragma once

#include <signal.h>

#include <functional>

#include "descriptor.hpp"
#include "event_loop.hpp"

namespace hr::launcher {

class Signals {
 public:
  // Blocks them, ignores SIGPIPE and SIGTTOU, and calls the handler for each from the loop.
  Signals(EventLoop& loop, std::function<void(int signal)> handler);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  EventLoop& loop_;
  std::function<void(int)> handler_;
  Descriptor descriptor_;
};

// "9 (Killed)"
std::string signal_text(int signal);

}  // namespace hr::launcher
