#include "p2p/wait/sleeper.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/library_thread.hpp"
#include "base/log.hpp"
#include "p2p/core/engine.hpp"

namespace hr::p2p {
namespace {

// Maximum sleep if some arrivals do not end it.
constexpr double kUnheard = 200e-6;
constexpr double kLongest = 1;

// In a program that ends without MPI_Finalize, the listener ends before the objects that it wakes are destroyed.
void close_at_exit() {
  if (engine() != nullptr) engine()->sleeper.end_listener();
}

}  // namespace

void Sleeper::open(std::span<transport::Transport* const> transports) {
  end_listener();
  heard_.clear();
  limit_ = kLongest;
  if (std::find(transports.begin(), transports.end(), first_) == transports.end()) first_ = nullptr;
  for (transport::Transport* each : transports) {
    if (!each->can_sleep()) continue;
    if (first_ == nullptr || first_ == each) {
      first_ = each;
    } else if (each->arrivals() >= 0) {
      heard_.push_back(std::make_unique<Heard>(each));
    } else {
      limit_ = kUnheard;
    }
  }
}

std::optional<Sleeper::Armed> Sleeper::arm() {
  const auto token = first_->arm();
  if (!token) return std::nullopt;
  if (!heard_.empty() && !listener_.joinable() && !start()) give_up();
  for (const auto& each : heard_) {
    if (listen(*each)) continue;
    first_->sleep(*token, 0);
    return std::nullopt;
  }
  armed_.fetch_add(1, std::memory_order_relaxed);
  return Armed{first_, *token, limit_};
}

void Sleeper::sleep(const Armed& armed, double at_most_seconds) {
  armed.on->sleep(armed.token, std::min(at_most_seconds, armed.limit));
  armed_.fetch_sub(1, std::memory_order_release);
}

bool Sleeper::listen(Heard& to) {
  if (!to.transport->arm_arrivals()) return false;
  // An earlier sleep has armed the descriptor, and the event has not occurred yet.
  if (to.armed.exchange(true, std::memory_order_acq_rel)) return true;
  epoll_event wanted{};
  wanted.events = EPOLLIN | EPOLLONESHOT;
  wanted.data.ptr = &to;
  return ::epoll_ctl(events_, EPOLL_CTL_MOD, to.transport->arrivals(), &wanted) == 0;
}

bool Sleeper::start() noexcept {
  events_ = ::epoll_create1(EPOLL_CLOEXEC);
  end_ = ::eventfd(0, EFD_CLOEXEC);
  epoll_event none{};
  bool added = events_ >= 0 && end_ >= 0;
  for (const auto& each : heard_) {
    each->armed.store(false, std::memory_order_relaxed);
    added = added && ::epoll_ctl(events_, EPOLL_CTL_ADD, each->transport->arrivals(), &none) == 0;
  }
  none.events = EPOLLIN;
  if (!added || ::epoll_ctl(events_, EPOLL_CTL_ADD, end_, &none) != 0) return false;
  owner_ = ::getpid();
  static const int registered = std::atexit(close_at_exit);
  static_cast<void>(registered);
  with_signals_blocked([this] {
    try {
      listener_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
    }
  });
  return listener_.joinable();
}

void Sleeper::run() noexcept {
  ::pthread_setname_np(::pthread_self(), "mpi listener");
  for (;;) {
    epoll_event event{};
    if (::epoll_wait(events_, &event, 1, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (event.data.ptr == nullptr) return;
    static_cast<Heard*>(event.data.ptr)->armed.store(false, std::memory_order_release);
    first_->wake();
  }
}

void Sleeper::give_up() noexcept {
  log::write(log::Level::kNote,
             "no thread can wait for both the network and shared memory; waits poll for messages %.0f times a second",
             1 / kUnheard);
  heard_.clear();
  limit_ = kUnheard;
}

void Sleeper::end_listener() noexcept {
  if (listener_.joinable() && owner_ != ::getpid()) listener_.detach();
  if (listener_.joinable()) {
    const std::uint64_t one = 1;
    while (::write(end_, &one, sizeof one) < 0 && errno == EINTR) {
    }
    listener_.join();
  }
  for (int* each : {&events_, &end_}) {
    if (*each >= 0) ::close(*each);
    *each = -1;
  }
}

void Sleeper::close() noexcept {
  end_listener();
  heard_.clear();
  first_ = nullptr;
}

}  // namespace hr::p2p
