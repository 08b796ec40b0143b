#include "boot/port.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace hr::boot {
namespace {

constexpr std::string_view kKind = "headrace";
constexpr char kBetween = '_';  // the parts of a name; no part has it
constexpr std::size_t kSecretDigits = 32;
constexpr double kGreetingSeconds = 10;
constexpr std::size_t kMostCallers = 64;
constexpr int kBacklog = 128;
constexpr int kDialMilliseconds = 20000;

Status system_failed(const char* what) {
  return fail(Errc::kOther, "a port could not be opened: %s: %s", what, std::strerror(errno));
}

Status make_secret(std::string* secret) {
  unsigned char bytes[kSecretDigits / 2];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return system_failed("getrandom");
  constexpr std::string_view kDigits = "0123456789abcdef";
  secret->clear();
  for (const unsigned char byte : bytes) {
    *secret += kDigits[byte >> 4];
    *secret += kDigits[byte & 15];
  }
  return kOk;
}

// The first address by which other hosts reach this one; the loopback's where there is none.
in_addr own_address() {
  in_addr found{htonl(INADDR_LOOPBACK)};
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    found = reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
    break;
  }
  ::freeifaddrs(all);
  return found;
}

void hurry(int socket) noexcept {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = name.find(kBetween);
    parts.push_back(name.substr(0, end));
    if (end == std::string_view::npos) return parts;
    name.remove_prefix(end + 1);
  }
}

Status bad_name(const std::string& name, const char* why) {
  return fail(Errc::kPort, "\"%.200s\" %s: pass the name that MPI_Open_port returned in the process that accepts",
              name.c_str(), why);
}

// Connects in bounded time.
Status connect_socket(int socket, const sockaddr_in& to, const std::string& name) {
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return kOk;
  int reason = errno;
  if (reason == EINPROGRESS) {
    pollfd state{socket, POLLOUT, 0};
    const int ready = ::poll(&state, 1, kDialMilliseconds);
    socklen_t size = sizeof reason;
    if (ready != 1 || ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &reason, &size) != 0) reason = ETIMEDOUT;
  }
  if (reason == 0) return kOk;
  return fail(Errc::kPort, "nobody listens at port \"%.200s\": %s; was it closed (MPI_Close_port)?", name.c_str(),
              std::strerror(reason));
}

}  // namespace

Port::~Port() {
  if (socket_ >= 0) ::close(socket_);
}

Status Port::open(bool beyond_host) {
  HR_TRY(make_secret(&secret_));
  HR_TRY(make_secret(&answer_));
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) return system_failed("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr = beyond_host ? own_address() : in_addr{htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return system_failed("bind");
  if (::listen(socket_, kBacklog) != 0) return system_failed("listen");
  if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) return system_failed("getsockname");
  char text[INET_ADDRSTRLEN];
  ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  name_ = std::string(kKind) + kBetween + text + kBetween + std::to_string(ntohs(address.sin_port)) + kBetween +
          secret_ + kBetween + answer_;
  return kOk;
}

void Port::listen_to_callers() {
  while (callers_.size() < kMostCallers) {
    const int caller = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (caller < 0 && errno == EINTR) continue;
    if (caller < 0) return;
    hurry(caller);
    callers_.push_back({std::make_unique<Channel>(
                            caller, true, Channel::Greeting{.own = answer_, .expected = secret_, .first = false}),
                        now_seconds() + kGreetingSeconds});
  }
}

std::unique_ptr<Channel> Port::accept() {
  listen_to_callers();
  for (auto each = callers_.begin(); each != callers_.end();) {
    const Status status = each->channel->step();
    if (each->channel->greeted() && status.ok()) {
      std::unique_ptr<Channel> channel = std::move(each->channel);
      callers_.erase(each);
      return channel;
    }
    if (!status.ok()) static_cast<void>(take_detail());  // whoever that was
    each = !status.ok() || now_seconds() > each->until ? callers_.erase(each) : std::next(each);
  }
  return nullptr;
}

Status dial(const std::string& port_name, std::unique_ptr<Channel>* channel) {
  const std::vector<std::string_view> parts = parts_of(port_name);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  std::uint16_t number = 0;
  const bool formed = parts.size() == 5 && parts[0] == kKind && parts[3].size() == kSecretDigits &&
                      parts[4].size() == kSecretDigits &&
                      ::inet_pton(AF_INET, std::string(parts[1]).c_str(), &address.sin_addr) == 1;
  if (!formed) return bad_name(port_name, "is no port name");
  const auto read = std::from_chars(parts[2].data(), parts[2].data() + parts[2].size(), number);
  if (read.ec != std::errc() || read.ptr != parts[2].data() + parts[2].size() || number == 0)
    return bad_name(port_name, "is no port name");
  address.sin_port = htons(number);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return fail(Errc::kOther, "no socket to connect to a port with: %s", std::strerror(errno));
  auto made = std::make_unique<Channel>(
      socket, true, Channel::Greeting{.own = std::string(parts[3]), .expected = std::string(parts[4]), .first = true});
  HR_TRY(connect_socket(socket, address, port_name));
  hurry(socket);
  *channel = std::move(made);
  return kOk;
}

}  // namespace hr::boot
