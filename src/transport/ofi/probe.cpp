#include "transport/ofi/probe.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace hr::transport::ofi {

bool Probe::begin(const std::vector<std::byte>& address) {
  if (socket_ >= 0) return true;
  sockaddr_storage to{};
  if (address.size() < sizeof(sa_family_t) || address.size() > sizeof to) return false;
  std::memcpy(&to, address.data(), address.size());
  const bool known = (to.ss_family == AF_INET && address.size() >= sizeof(sockaddr_in)) ||
                     (to.ss_family == AF_INET6 && address.size() >= sizeof(sockaddr_in6));
  if (!known) return false;
  socket_ = ::socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return false;
  const auto length = static_cast<socklen_t>(to.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  static_cast<void>(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), length));
  return true;
}

bool Probe::answered(int* error) {
  pollfd watched{socket_, POLLOUT, 0};
  if (socket_ < 0 || ::poll(&watched, 1, 0) <= 0) return false;
  socklen_t length = sizeof *error;
  if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, error, &length) != 0) *error = errno;
  close();
  return true;
}

void Probe::close() noexcept {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

}  // namespace hr::transport::ofi
