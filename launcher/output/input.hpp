// Standard input of rank 0.
//
// If rank 0 runs on mpiexec's host, it inherits a file or pipe directly, so that mpiexec consumes nothing that the
// program does not read itself. A terminal is forwarded through a pipe: the ranks are in separate process groups, and
// only mpiexec's group may read the terminal. On another host, standard input is always forwarded: InputSource reads it
// in mpiexec, and InputPipe writes it on rank 0's host. One piece is in flight at a time. One thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "system/descriptor.hpp"
#include "system/event_loop.hpp"

namespace hr::launcher {

// The standard input of mpiexec, read one piece at a time.
class InputSource {
 public:
  // Called with each piece, and with an empty one at the end.
  using Take = std::function<void(std::string_view piece)>;

  InputSource(EventLoop& loop, Take take) : loop_(loop), take_(std::move(take)) {}
  ~InputSource();
  InputSource(const InputSource&) = delete;
  InputSource& operator=(const InputSource&) = delete;

  // Reads the next piece once there is one.
  void more();
  // Called after a stop (Ctrl-Z, fg), when this process may own the terminal again.
  void resume();
  void close();

 private:
  void watch();
  void read();

  EventLoop& loop_;
  Take take_;
  bool wanted_ = false;
  bool watched_ = false;
  bool ended_ = false;
};

// A pipe to rank 0.
class InputPipe {
 public:
  // taken: called when the pipe has accepted all of a piece.
  InputPipe(EventLoop& loop, std::function<void()> taken) : loop_(loop), taken_(std::move(taken)) {}
  ~InputPipe();
  InputPipe(const InputPipe&) = delete;
  InputPipe& operator=(const InputPipe&) = delete;

  // Returns the descriptor for rank 0, -1 if there is none; close it with started() when the rank runs.
  [[nodiscard]] int for_rank_0();
  void started() { child_end_.close(); }
  // Writes a piece. Empty: nothing follows.
  void write(std::string_view piece);

 private:
  void write_pending();
  void close();

  EventLoop& loop_;
  std::function<void()> taken_;
  Descriptor child_end_;
  Descriptor our_end_;
  std::string pending_;
  bool watched_ = false;
};

}  // namespace hr::launcher
