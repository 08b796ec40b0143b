// Standard input of rank 0.
//
// A file or pipe is handed to rank 0 as it is, so that nothing is read that the program does not read itself. A
// terminal is forwarded through a pipe: the ranks are in process groups of their own, and only ours may read the
// terminal. Owner: Job. One thread.
#pragma once

#include <string>

#include "descriptor.hpp"
#include "event_loop.hpp"

namespace hr::launcher {

class Input {
 public:
  explicit Input(EventLoop& loop) : loop_(loop) {}
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // The descriptor that rank 0 gets; close it with started() when the rank runs.
  [[nodiscard]] int for_rank_0();
  void started();
  // After a stop (Ctrl-Z, fg) the terminal may be ours again.
  void resume();

 private:
  void watch_terminal();
  void read_terminal();
  void write_pending();
  void close();

  EventLoop& loop_;
  Descriptor child_end_;
  Descriptor our_end_;
  std::string pending_;
  bool watched_ = false;
  bool writing_ = false;
};

}  // namespace hr::launcher
