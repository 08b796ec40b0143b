// Signals that mpiexec handles: blocked, and read from a descriptor in the event loop.
#pragma once

#include <signal.h>

#include <functional>

#include "system/descriptor.hpp"
#include "system/event_loop.hpp"

namespace hr::launcher {

class Signals {
 public:
  // Blocks the handled signals and no others, ignores SIGPIPE, SIGTTOU and SIGXFSZ, and calls the handler for each
  // signal from the loop.
  Signals(EventLoop& loop, std::function<void(int signal)> handler);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  EventLoop& loop_;
  std::function<void(int)> handler_;
  Descriptor descriptor_;
};

// Ensures that the end of each child is reported. The process that started this one may have ignored SIGCHLD; children
// then leave nothing to wait for. Threads that a library starts must not receive the signal, so it is blocked before
// the first one starts.
void expect_children() noexcept;

// True if ranks also ignore this signal when mpiexec was started with it ignored. These are the signals that a person
// or a batch system sends to a whole job (nohup, a shell's background job, `trap '' USR1` in a job script). Any other
// signal is ignored only by accident, because of the process that started mpiexec: Python ignores SIGPIPE, servers
// SIGCHLD.
[[nodiscard]] bool stays_ignored(int signal) noexcept;

// Returns a text such as "9 (Killed)".
std::string signal_text(int signal);

}  // namespace hr::launcher
