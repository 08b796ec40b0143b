#include "output/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace hr::launcher {
namespace {

constexpr std::size_t kFullSink = std::size_t{1} << 20;
// Lines are held back until they are complete. A line longer than kUsualLine uses memory that all forwarders share. If
// none is left, the line is written in pieces, between which others may print.
constexpr std::size_t kUsualLine = std::size_t{1} << 20;
constexpr std::size_t kHeldByAll = std::size_t{256} << 20;
constexpr std::chrono::milliseconds kPromptDelay{100};
constexpr std::size_t kChunk = std::size_t{16} << 10;  // size of a buffer on the stack, which may be small

constexpr int kMostChunks = 8;  // maximum number read at a time; more than a pipe holds

std::size_t held_by_all = 0;

}  // namespace

Sink::Sink(EventLoop& loop, int descriptor) : loop_(loop), descriptor_(descriptor) {
  struct stat state{};
  regular_ = ::fstat(descriptor, &state) == 0 && S_ISREG(state.st_mode);
  terminal_ = ::isatty(descriptor) == 1;
}

bool Sink::full() const noexcept { return queue_.size() - written_ > kFullSink; }

void Sink::write(const void* source, std::string_view text) {
  if (broken_ || text.empty()) return;
  if (open_line_of_ != nullptr && open_line_of_ != source) queue_ += '\n';
  queue_ += text;
  open_line_of_ = text.back() == '\n' ? nullptr : source;
  if (!watched_) drain();
}

void Sink::drain() {
  while (!broken_ && written_ < queue_.size()) {
    // A descriptor that is shared with other processes must not be made non-blocking: poll first, and write no more
    // than a pipe with space accepts at once.
    pollfd state{descriptor_, POLLOUT, 0};
    if (!regular_ && ::poll(&state, 1, 0) == 0) return wait_for_room();
    const std::size_t left = queue_.size() - written_;
    const ssize_t count =
        ::write(descriptor_, queue_.data() + written_, regular_ ? left : std::min<std::size_t>(left, PIPE_BUF));
    if (count >= 0) {
      written_ += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      return wait_for_room();
    } else if (errno == EPIPE || errno == EIO) {
      broken_ = true;  // the reader has ended: the ranks detect that when their pipes close
    } else if (errno != EINTR) {
      lose(errno);
    }
  }
  queue_.clear();
  written_ = 0;
  wake();
}

// Drops the queue; there may be space again for later text.
void Sink::lose(int error) {
  written_ = queue_.size();
  if (std::exchange(lost_, error) != 0 || tell_lost_ == nullptr) return;
  loop_.after(std::chrono::milliseconds(0), [this] { tell_lost_(); });
}

void Sink::wait_for_room() {
  if (written_ > kFullSink) {
    queue_.erase(0, written_);
    written_ = 0;
  }
  if (watched_) return;
  watched_ = true;
  loop_.watch(descriptor_, EPOLLOUT, [this] {
    loop_.forget(descriptor_);
    watched_ = false;
    drain();
  });
}

void Sink::wake() {
  const auto waiting = std::exchange(waiting_, {});
  for (const auto& resume : waiting) resume();
}

void Sink::flush() {
  waiting_.clear();
  while (!broken_ && written_ < queue_.size()) {
    pollfd state{descriptor_, POLLOUT, 0};
    ::poll(&state, 1, -1);
    drain();
  }
}

Forwarder::Forwarder(EventLoop& loop, Descriptor pipe, OutputTarget& target)
    : loop_(loop), pipe_(std::move(pipe)), target_(target) {
  ::fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);  // only this process has the read end
  resume();
}

Forwarder::~Forwarder() { close(); }

void Forwarder::resume() {
  if (watched_ || done()) return;
  if (target_.broken()) return close();
  watched_ = true;
  loop_.watch(pipe_.get(), EPOLLIN, [this] { read_some(); });
}

void Forwarder::pause() {
  if (watched_) loop_.forget(pipe_.get());
  watched_ = false;
}

void Forwarder::close() {
  held_by_all -= std::exchange(held_, 0);
  pause();
  if (timer_set_) loop_.cancel(timer_);
  timer_set_ = false;
  pipe_.close();
}

bool Forwarder::read_some() {
  char chunk[kChunk];
  const ssize_t count = ::read(pipe_.get(), chunk, sizeof chunk);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) {
    emit_rest();
    close();
    return false;
  }
  take(std::string_view(chunk, static_cast<std::size_t>(count)));
  if (target_.broken()) {
    close();
    return false;
  }
  if (target_.full()) {
    pause();
    target_.when_room([this, here = std::weak_ptr(here_)] {
      if (!here.expired()) resume();
    });
  }
  return true;
}

void Forwarder::catch_up() {
  for (int chunk = 0; chunk < kMostChunks && watched_ && read_some(); ++chunk) {
  }
}

void Forwarder::finish() {
  while (!done()) {
    char chunk[kChunk];
    const ssize_t count = ::read(pipe_.get(), chunk, sizeof chunk);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    take(std::string_view(chunk, static_cast<std::size_t>(count)));
  }
  emit_rest();
  close();
}

void Forwarder::take(std::string_view text) {
  const auto end = text.rfind('\n');
  if (end != std::string_view::npos) {
    rest_ += text.substr(0, end + 1);
    target_.take(rest_);
    rest_ = text.substr(end + 1);
  } else {
    rest_ += text;
  }
  if (!hold_rest()) return emit_rest();
  // A prompt has no newline, so it is shown on a terminal after a moment.
  if (!rest_.empty() && target_.wants_prompts() && !timer_set_) {
    timer_set_ = true;
    timer_ = loop_.after(kPromptDelay, [this] {
      timer_set_ = false;
      emit_rest();
    });
  }
}

// Reserves memory that all forwarders share for the start of a long line.
bool Forwarder::hold_rest() {
  const std::size_t needed = rest_.size() > kUsualLine ? rest_.size() : 0;
  if (held_by_all - held_ + needed > kHeldByAll) return false;
  held_by_all += needed - held_;
  held_ = needed;
  return true;
}

void Forwarder::emit_rest() {
  if (!rest_.empty()) target_.take(rest_);
  rest_.clear();
  hold_rest();
}

}  // namespace hr::launcher
