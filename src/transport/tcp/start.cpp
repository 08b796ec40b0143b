// Start-up: the listening socket, and the address at which other processes reach it.
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "transport/tcp/endpoint.hpp"

namespace hr::transport::tcp {
namespace {

constexpr int kBacklog = 4096;
// Cost on interfaces whose speed the system does not state: the cost of a fast network through the kernel.
constexpr Cost kUnstated{15e-6, 2e9};

Status failed(const char* what, const Interface& interface) {
  return fail(Errc::kOther, "tcp: %s on interface %s: %s", what, interface.name.c_str(), std::strerror(errno));
}

}  // namespace

Status Tcp::create() {
  HR_TRY(names_.make_secret());
  key_ = make_nonce();
  HR_TRY(choose_interface(listens(), &interface_));
  cost_ = kUnstated;
  if (interface_.bytes_per_second > 0) cost_.bytes_per_second = interface_.bytes_per_second;
  HR_TRY(open_events());
  sockaddr_storage address = interface_.address;
  listener_ = ::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener_ < 0) return failed("socket", interface_);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = length_of(address);
  reinterpret_cast<sockaddr_in*>(&address)->sin_port = 0;  // at the same place in both families
  if (::bind(listener_, generic, length) != 0) return failed("bind", interface_);
  if (::listen(listener_, kBacklog) != 0) return failed("listen", interface_);
  if (::getsockname(listener_, generic, &length) != 0) return failed("getsockname", interface_);
  // The second port shows that this host is not silent while the queue of connections of this process is full.
  if (const int error = closed_port_.open(address); error != 0)
    log::write(log::Level::kDecision, "tcp: no second port on interface %s: %s", interface_.name.c_str(),
               std::strerror(error));
  epoll_event event{.events = EPOLLIN, .data = {.ptr = nullptr}};
  if (::epoll_ctl(events_, EPOLL_CTL_ADD, listener_, &event) != 0) return failed("epoll_ctl", interface_);
  log::write(log::Level::kDecision, "tcp: listens at %s on interface %s", text_of(address).c_str(),
             interface_.name.c_str());
  const auto bytes = std::as_bytes(std::span(&address, 1)).first(length_of(address));
  std::vector<std::byte> place(bytes.begin(), bytes.end());
  network::append_port(closed_port_.port(), &place);
  for (const std::uint64_t part : key_) network::append_secret(part, &place);
  return publish(place);
}

Status Tcp::open_events() {
  events_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (events_ < 0) return failed("epoll_create1", interface_);
  return sleepers_.open(events_);
}

}  // namespace hr::transport::tcp
