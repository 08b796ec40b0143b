#include "output/input.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace hr::launcher {
namespace {

// True if this process runs in the background, where reading from the terminal would stop it.
bool is_background() { return ::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) != ::getpgrp(); }

// True if standard input is a file, a directory or a device other than a terminal, or cannot be examined. It is then
// read without epoll, which refuses files; a file is always readable.
bool is_file() {
  struct stat state{};
  return ::fstat(STDIN_FILENO, &state) != 0 || S_ISREG(state.st_mode) || S_ISDIR(state.st_mode) ||
         (S_ISCHR(state.st_mode) && ::isatty(STDIN_FILENO) != 1);
}

}  // namespace

InputSource::~InputSource() { close(); }

void InputSource::more() {
  wanted_ = true;
  watch();
}

void InputSource::resume() { watch(); }

void InputSource::watch() {
  if (!wanted_ || ended_ || watched_ || is_background()) return;
  if (is_file()) return read();
  watched_ = true;
  loop_.watch(STDIN_FILENO, EPOLLIN, [this] {
    loop_.forget(STDIN_FILENO);
    watched_ = false;
    if (!is_background()) read();
  });
}

void InputSource::read() {
  char piece[16384];  // a small buffer, as the stack may be small
  const ssize_t count = ::read(STDIN_FILENO, piece, sizeof piece);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return watch();
  wanted_ = false;
  ended_ = count <= 0;
  take_(std::string_view(piece, static_cast<std::size_t>(ended_ ? 0 : count)));
}

void InputSource::close() {
  if (std::exchange(watched_, false)) loop_.forget(STDIN_FILENO);
  ended_ = true;
}

InputPipe::~InputPipe() { close(); }

int InputPipe::for_rank_0() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -1;
  child_end_ = Descriptor(ends[0]);
  our_end_ = Descriptor(ends[1]);
  ::fcntl(our_end_.get(), F_SETFL, O_NONBLOCK);
  return child_end_.get();
}

void InputPipe::write(std::string_view piece) {
  if (piece.empty()) return close();  // lets rank 0 read the end of the file
  if (!our_end_.is_open()) return;
  pending_ += piece;
  write_pending();
}

void InputPipe::write_pending() {
  while (!pending_.empty()) {
    const ssize_t count = ::write(our_end_.get(), pending_.data(), pending_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      if (!watched_) loop_.watch(our_end_.get(), EPOLLOUT, [this] { write_pending(); });
      watched_ = true;
      return;
    }
    if (count < 0) return close();  // rank 0 no longer reads
    pending_.erase(0, static_cast<std::size_t>(count));
  }
  if (std::exchange(watched_, false)) loop_.forget(our_end_.get());
  taken_();
}

void InputPipe::close() {
  if (std::exchange(watched_, false)) loop_.forget(our_end_.get());
  our_end_.close();
}

}  // namespace hr::launcher
