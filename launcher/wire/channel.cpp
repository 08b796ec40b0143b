#include "wire/channel.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace hr::launcher {
namespace {

constexpr std::size_t kMostQueued = std::size_t{256} << 20;
constexpr std::size_t kTidy = std::size_t{1} << 20;  // maximum number of written bytes that stay at the front of the
                                                     // queue
using std::chrono::duration_cast;
using std::chrono::milliseconds;
constexpr milliseconds kReportTime{1000};  // time in which the report of a silent host reaches the root
constexpr milliseconds kMostGrace{8000};   // time for data that TCP retransmits after a link was cut for a while
// A host with that many runnable threads for each CPU counts as loaded.
constexpr int kLoaded = 4;
constexpr int kMostFactor = 10;

// Returns the number of runnable threads for each CPU of this host; 0 if the system does not tell.
int own_load() {
  std::ifstream file("/proc/loadavg");  // three averages, then "running/all"
  double average = 0;
  int running = 0;
  file >> average >> average >> average >> running;
  const long cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
  return file && cpus > 0 ? running / static_cast<int>(cpus) : 0;
}

}  // namespace

Channel::Channel(EventLoop& loop, Descriptor reading, Descriptor writing, milliseconds silence, Handlers handlers,
                 std::string_view received)
    : loop_(loop),
      reading_(std::move(reading)),
      writing_(std::move(writing)),
      silence_(silence),
      handlers_(std::move(handlers)) {
  ::fcntl(reading_.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(writing_.get(), F_SETFL, O_NONBLOCK);
  decoder_.add(received);
  loop_.watch(reading_.get(), EPOLLIN, [this] { read(); });
  heard_ = next_tick_ = EventLoop::Clock::now();
  timer_ = loop_.after(milliseconds(0), [this] { tick(); });
}

Channel::~Channel() {
  if (closing_) loop_.cancel(closing_timer_);
  loop_.cancel(timer_);
  if (!closed_) loop_.forget(reading_.get());
  if (writing_watched_) loop_.forget(writing_.get());
}

void Channel::set_silence_of_parent(milliseconds silence) {
  silence_ = silence;
  beyond_ = between_ticks() + kReportTime;
  loop_.cancel(timer_);
  next_tick_ = heard_ = EventLoop::Clock::now();
  timer_ = loop_.after(milliseconds(0), [this] { tick(); });
}

void Channel::expect_silence(bool expected) {
  silence_expected_ = expected;
  heard_ = EventLoop::Clock::now();
}

milliseconds Channel::between_ticks() const noexcept { return silence_ / 5; }

int Channel::load_factor() const noexcept { return std::clamp(load_ / kLoaded, 1, kMostFactor); }

milliseconds Channel::patience() const noexcept {
  return (silence_ + std::min(silence_, kMostGrace)) * load_factor() + beyond_;
}

void Channel::tick() {
  take({});  // handles data received before the channel existed
  if (closing_) return;
  const auto now = EventLoop::Clock::now();
  const auto late = now - next_tick_;
  // If this process was itself stopped, it could not receive anything.
  if (late > silence_ / 2 || silence_expected_) heard_ += silence_expected_ ? now - heard_ : late;
  if (now - heard_ > patience()) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", static_cast<double>(silence_.count()) * load_factor() / 1000);
    return close("no sign of life for " + std::string(seconds) + " s (HEADRACE_HOST_TIMEOUT)");
  }
  if (!std::exchange(sent_since_tick_, false) && queue_.empty()) {
    send({.numbers = {own_load()}});
    sent_since_tick_ = false;
  }
  next_tick_ = now + between_ticks();
  timer_ = loop_.after(between_ticks(), [this] { tick(); });
}

void Channel::read() {
  char chunk[16384];  // a small buffer, as the stack may be small
  const ssize_t count = ::read(reading_.get(), chunk, sizeof chunk);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return close(count == 0 ? "" : std::strerror(errno));
  heard_ = EventLoop::Clock::now();
  take(std::string_view(chunk, static_cast<std::size_t>(count)));
}

void Channel::take(std::string_view bytes) {
  decoder_.add(bytes);
  std::string payload;
  while (!closing_ && decoder_.next(&payload)) {
    const auto message = decode(payload);
    if (!message) return close("it sent data that is not a message of this version of mpiexec");
    if (message->kind == Message::Kind::kAlive) {
      load_ = std::max(message->numbers[0], load_ / 2);
    } else {
      handlers_.message(*message);
    }
  }
  if (decoder_.broken()) close("it sent data that is not a message of this version of mpiexec");
}

// The handler may destroy this channel, so it runs later, when none of the channel's functions is active.
void Channel::close(const std::string& cause) {
  if (!closed_) loop_.forget(reading_.get());
  closed_ = true;
  if (std::exchange(closing_, true)) return;
  loop_.cancel(timer_);  // has no effect if this is the timer that runs
  closing_timer_ = loop_.after(milliseconds(0), [handler = handlers_.closed, cause] { handler(cause); });
}

void Channel::send(const Message& message) {
  if (closing_) return;
  sent_since_tick_ = true;
  append_frame(&queue_, encode(message));
  if (queue_.size() - written_ > kMostQueued) return close("it does not read what is sent to it");
  if (!writing_watched_) write();
}

void Channel::write() {
  while (written_ < queue_.size()) {
    const ssize_t count = ::write(writing_.get(), queue_.data() + written_, queue_.size() - written_);
    if (count >= 0) {
      written_ += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      if (written_ > kTidy) queue_.erase(0, std::exchange(written_, 0));
      if (!writing_watched_) loop_.watch(writing_.get(), EPOLLOUT, [this] { write(); });
      writing_watched_ = true;
      return;
    } else if (errno != EINTR) {
      break;  // the other side has ended: reading reports the reason
    }
  }
  queue_.clear();
  written_ = 0;
  if (std::exchange(writing_watched_, false)) loop_.forget(writing_.get());
}

void Channel::flush(milliseconds limit) {
  const auto deadline = EventLoop::Clock::now() + limit;
  while (written_ < queue_.size()) {
    const auto left = duration_cast<milliseconds>(deadline - EventLoop::Clock::now()).count();
    pollfd state{writing_.get(), POLLOUT, 0};
    if (left <= 0 || ::poll(&state, 1, static_cast<int>(left)) <= 0) return;
    write();
  }
}

}  // namespace hr::launcher
