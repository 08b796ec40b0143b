// Background: runs work that takes seconds (inspecting a process with a debugger) outside the event loop, so that
// heartbeats continue.
//
// Owner: HostRanks. Each task runs on its own thread and shares nothing with the loop; `done` runs in the loop.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <thread>

#include "system/descriptor.hpp"
#include "system/event_loop.hpp"

namespace hr::launcher {

class Background {
 public:
  explicit Background(EventLoop& loop) : loop_(loop) {}
  // Waits for the threads, and drops their results.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void run(std::function<std::string()> work, std::function<void(const std::string&)> done);

 private:
  struct Task {
    Descriptor ready;  // an eventfd
    std::string result;
    std::thread thread;
  };

  EventLoop& loop_;
  std::list<Task> tasks_;
};

}  // namespace hr::launcher
