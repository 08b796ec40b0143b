// EventLoop: handles mpiexec's descriptors and timers on one thread.
//
// Owner: Job or Agent. A handler may add and remove descriptors and timers, including its own. The loop does not close
// descriptors.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace hr::launcher {

class EventLoop {
 public:
  using Clock = std::chrono::steady_clock;
  using Handler = std::function<void()>;
  using TimerId = std::pair<Clock::time_point, std::uint64_t>;

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Calls the handler whenever any of the events (EPOLLIN, EPOLLOUT), an error or a hang-up occurs.
  void watch(int descriptor, std::uint32_t events, Handler handler);
  void forget(int descriptor) noexcept;

  TimerId after(std::chrono::milliseconds delay, Handler handler);
  void cancel(TimerId timer) noexcept;

  // Waits for events and handles them.
  void run_once();

 private:
  int epoll_;
  std::map<int, std::shared_ptr<Handler>> handlers_;
  std::map<TimerId, Handler> timers_;
  std::uint64_t timer_count_ = 0;
};

}  // namespace hr::launcher
