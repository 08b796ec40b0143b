#include "input.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

namespace hr::launcher {

Input::~Input() { close(); }

int Input::for_rank_0() {
  int ends[2];
  if (::isatty(STDIN_FILENO) != 1 || ::pipe2(ends, O_CLOEXEC) != 0) return STDIN_FILENO;
  child_end_ = Descriptor(ends[0]);
  our_end_ = Descriptor(ends[1]);
  ::fcntl(our_end_.get(), F_SETFL, O_NONBLOCK);
  return child_end_.get();
}

void Input::started() {
  child_end_.close();
  watch_terminal();
}

void Input::resume() { watch_terminal(); }

void Input::watch_terminal() {
  // In the background a read would stop us.
  if (!our_end_.is_open() || watched_ || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return;
  watched_ = true;
  loop_.watch(STDIN_FILENO, EPOLLIN, [this] { read_terminal(); });
}

void Input::read_terminal() {
  if (::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) {  // moved to the background
    loop_.forget(STDIN_FILENO);
    watched_ = false;
    return;
  }
  char chunk[4096];
  const ssize_t count = ::read(STDIN_FILENO, chunk, sizeof chunk);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) return close();  // end of file: rank 0 sees it too
  pending_.append(chunk, static_cast<std::size_t>(count));
  write_pending();
}

void Input::write_pending() {
  while (!pending_.empty()) {
    const ssize_t count = ::write(our_end_.get(), pending_.data(), pending_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      if (watched_) loop_.forget(STDIN_FILENO);
      watched_ = false;
      if (!writing_) loop_.watch(our_end_.get(), EPOLLOUT, [this] { write_pending(); });
      writing_ = true;
      return;
    }
    if (count < 0) return close();
    pending_.erase(0, static_cast<std::size_t>(count));
  }
  if (writing_) loop_.forget(our_end_.get());
  writing_ = false;
  watch_terminal();
}

void Input::close() {
  if (watched_) loop_.forget(STDIN_FILENO);
  if (writing_) loop_.forget(our_end_.get());
  watched_ = writing_ = false;
  our_end_.close();
}

}  // namespace hr::launcher
