#include "transport/network/probe.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.hpp"
#include "transport/network/socket_address.hpp"

namespace hr::transport::network {

bool Probe::begin(const sockaddr_storage& to) noexcept {
  if (socket_ >= 0) return true;
  socket_ = ::socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return false;
  const int result = ::connect(socket_, reinterpret_cast<const sockaddr*>(&to), length_of(to));
  error_ = result == 0 || errno == EINPROGRESS ? 0 : errno;
  // These say nothing about the other host.
  if (error_ != EADDRNOTAVAIL && error_ != EAGAIN && error_ != ENOBUFS && error_ != ENOMEM) return true;
  close();
  return false;
}

bool Probe::answered(int* error) noexcept {
  if (socket_ < 0) return false;
  *error = error_;
  if (error_ == 0) {
    pollfd watched{socket_, POLLOUT, 0};
    if (::poll(&watched, 1, 0) <= 0) return false;
    socklen_t length = sizeof *error;
    if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, error, &length) != 0) *error = errno;
  }
  close();
  return true;
}

void Probe::close() noexcept {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

int ClosedPort::open(const sockaddr_storage& address) noexcept {
  sockaddr_storage bound = with_port(address, 0);
  socklen_t length = length_of(bound);
  auto* const generic = reinterpret_cast<sockaddr*>(&bound);
  close();
  socket_ = ::socket(bound.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return errno;
  if (::bind(socket_, generic, length) != 0 || ::getsockname(socket_, generic, &length) != 0) {
    const int error = errno;
    close();
    return error;
  }
  port_ = port_of(bound);
  return 0;
}

void ClosedPort::close() noexcept {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  port_ = 0;
}

double HostProbe::silent_seconds(const sockaddr_storage& closed, double now) noexcept {
  int error = 0;
  if (probe_.answered(&error)) {
    take_answer(error, now);
  } else if (probe_.is_pending() && now - asked_at_ >= kRepeat) {
    probe_.close();
    has_answered_ = false;
  }
  if (!probe_.is_pending() && now >= next_) {
    if (probe_.begin(closed)) {
      asked_at_ = now;
      if (silent_since_ == 0) silent_since_ = now;
    } else {
      next_ = now + kShortestPause;
      silent_since_ = 0;  // the fault is this process's
    }
  }
  return silent_since_ == 0 ? 0 : now - silent_since_;
}

// The system answers with a refusal; a process that has taken the port since accepts, or closes the connection.
void HostProbe::take_answer(int error, double now) noexcept {
  has_answered_ = error == 0 || error == ECONNREFUSED || error == ECONNRESET;
  if (has_answered_) {
    silent_since_ = 0;
    next_ = now + pause_;
    pause_ = std::min(2 * pause_, kLongestPause);
  } else {
    next_ = now + kShortestPause;
  }
}

void HostProbe::stop() noexcept {
  probe_.close();
  silent_since_ = next_ = 0;
  pause_ = kShortestPause;
  has_answered_ = false;
}

void note_full_queue(std::string_view network, const std::string& process, const std::string& host,
                     const sockaddr_storage& address) {
  log::write(
      log::Level::kNote,
      "%.*s: %s%s%s accepts no connections at %s, although its host answers: this process waits for it. It makes "
      "no MPI calls, and its queue of connections is full, or a firewall drops the packets to this port (ranks "
      "listen on any port)",
      static_cast<int>(network.size()), network.data(), process.c_str(), host.empty() ? "" : " on host ", host.c_str(),
      text_of(address).c_str());
}

}  // namespace hr::transport::network
