#include "boot/port.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "base/secret.hpp"

namespace hr::boot {
namespace {

constexpr std::string_view kKind = "headrace";
constexpr char kBetween = '_';  // between the parts of a name; no part contains it
constexpr std::size_t kSecretDigits = 32;
constexpr std::size_t kMostShown = 100;  // characters shown of a string that is not a port name
constexpr int kBacklog = 4096;           // the system may limit it

Status system_failed(const char* what) {
  return fail(Errc::kOther, "a port could not be opened: %s: %s", what, std::strerror(errno));
}

// Returns the first address at which other hosts reach this one; the loopback address if there is none.
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
  return fail(Errc::kPort, "%s %s: pass the name that MPI_Open_port returned in the process that accepts",
              shown_port(name).c_str(), why);
}

}  // namespace

Port::~Port() {
  if (socket_ >= 0) ::close(socket_);
  if (callers_ && callers_->dropped() != 0)
    log::write(log::Level::kNote, "%s: %zu connections did not prove its secret and were dropped",
               shown_port(name_).c_str(), callers_->dropped());
}

Status Port::open(bool beyond_host) {
  const std::string secret = digits_of(make_nonce());
  const std::string answer = digits_of(make_nonce());
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
          secret + kBetween + answer;
  callers_.emplace(Channel::Greeting{.own = answer, .expected = secret, .first = false});
  return kOk;
}

std::unique_ptr<Channel> Port::accept() { return callers_->next(socket_); }

std::string shown_port(std::string_view port_name) {
  const std::vector<std::string_view> parts = parts_of(port_name);
  if (parts.size() == 5 && parts[0] == kKind)
    return "the port at " + without_secrets(parts[1]) + ":" + without_secrets(parts[2]);
  std::string shown = without_secrets(port_name.substr(0, kMostShown));
  std::replace_if(shown.begin(), shown.end(), [](char letter) { return letter >= 0 && letter < ' '; }, '?');
  return "\"" + shown + "\"";
}

Status dial(const std::string& port_name, std::unique_ptr<Channel>* channel) {
  const std::vector<std::string_view> parts = parts_of(port_name);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  std::uint16_t number = 0;
  const bool formed = parts.size() == 5 && parts[0] == kKind && parts[3].size() == kSecretDigits &&
                      parts[4].size() == kSecretDigits &&
                      ::inet_pton(AF_INET, std::string(parts[1]).c_str(), &address.sin_addr) == 1;
  if (!formed) return bad_name(port_name, "is not a port name");
  const auto read = std::from_chars(parts[2].data(), parts[2].data() + parts[2].size(), number);
  if (read.ec != std::errc() || read.ptr != parts[2].data() + parts[2].size() || number == 0)
    return bad_name(port_name, "is not a port name");
  address.sin_port = htons(number);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return fail(Errc::kOther, "no socket to connect to a port with: %s", std::strerror(errno));
  auto made = std::make_unique<Channel>(
      socket, true, Channel::Greeting{.own = std::string(parts[3]), .expected = std::string(parts[4]), .first = true});
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // The channel cannot write until it is connected; until then its steps do nothing. For a port on this host, connect()
  // already fails if nothing listens.
  int reason = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  if (reason == EINPROGRESS) {
    socklen_t size = sizeof reason;
    if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &reason, &size) != 0) reason = errno;
  }
  if (reason != 0) {
    return fail(Errc::kPort, "no process listens at %s: %s; was it closed (MPI_Close_port)?",
                shown_port(port_name).c_str(), std::strerror(reason));
  }
  *channel = std::move(made);
  return kOk;
}

}  // namespace hr::boot
