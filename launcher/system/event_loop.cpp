#include "system/event_loop.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hr::launcher {

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

EventLoop::~EventLoop() { ::close(epoll_); }

void EventLoop::watch(int descriptor, std::uint32_t events, Handler handler) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) != 0) {
    std::fprintf(stderr, "mpiexec: epoll_ctl: %s\n", std::strerror(errno));
    std::abort();  // a failure to poll one of its own descriptors is a bug here
  }
  handlers_[descriptor] = std::make_shared<Handler>(std::move(handler));
}

void EventLoop::forget(int descriptor) noexcept {
  if (handlers_.erase(descriptor) != 0) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
}

EventLoop::TimerId EventLoop::after(std::chrono::milliseconds delay, Handler handler) {
  const TimerId id{Clock::now() + delay, ++timer_count_};
  timers_.emplace(id, std::move(handler));
  return id;
}

void EventLoop::cancel(TimerId timer) noexcept { timers_.erase(timer); }

void EventLoop::run_once() {
  int wait = -1;
  if (!timers_.empty()) {
    const auto left = timers_.begin()->first.first - Clock::now();
    wait = static_cast<int>(std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(left).count()));
  }
  epoll_event events[64];
  const int count = ::epoll_wait(epoll_, events, 64, wait);
  for (int at = 0; at < count; ++at) {
    const auto found = handlers_.find(events[at].data.fd);
    if (found == handlers_.end()) continue;  // forgotten by a handler of this round
    const std::shared_ptr<Handler> handler = found->second;
    (*handler)();
  }
  while (!timers_.empty() && timers_.begin()->first.first <= Clock::now()) {
    const Handler handler = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    handler();
  }
}

}  // namespace hr::launcher
