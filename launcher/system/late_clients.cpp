#include "system/late_clients.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "base/secret.hpp"
#include "boot/late_line.hpp"
#include "boot/pmi1_wire.hpp"
#include "system/cleanup.hpp"

namespace hr::launcher {
namespace {

constexpr std::size_t kMostCallers = 256;  // connections that have not been identified yet
constexpr std::size_t kLongestHandshake = 256;
constexpr std::chrono::milliseconds kHandshakeLimit{10000};
constexpr int kMostAncestors = 1000;

void say(int socket, std::string line) {
  line += '\n';
  [[maybe_unused]] const ssize_t sent = ::send(socket, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

const std::string& job_secret() {
  static const std::string secret = digits_of(make_nonce());
  return secret;
}

bool descends_from(pid_t process, pid_t ancestor) {
  for (int at = 0; at < kMostAncestors && process > 1; ++at) {
    if (process == ancestor) return true;
    process = parent_of(process);
  }
  return false;
}

bool LateClients::begin() {
  listening_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // If no name is given, the system chooses an unused one.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t length = sizeof address;
  if (!listening_.is_open() ||
      ::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address.sun_family) != 0 ||
      ::listen(listening_.get(), SOMAXCONN) != 0 ||
      ::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      length <= offsetof(sockaddr_un, sun_path) + 1) {
    listening_.close();
    return false;
  }
  name_.assign(address.sun_path + 1, length - offsetof(sockaddr_un, sun_path) - 1);
  loop_.watch(listening_.get(), EPOLLIN, [this] { take_caller(); });
  return true;
}

LateClients::~LateClients() {
  if (listening_.is_open()) loop_.forget(listening_.get());
  for (Caller& each : callers_) {
    loop_.forget(each.line.get());
    loop_.cancel(each.limit);
  }
}

std::string LateClients::variable_for(int socket) const {
  if (name_.empty()) return {};
  const boot::LateLine line{boot::inode_of(socket), static_cast<int>(::getpid()), boot::space_of_processes(), name_,
                            job_secret()};
  return std::string(boot::LateLine::kVariable) + "=" + line.text();
}

void LateClients::take_caller() {
  Descriptor line(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!line.is_open() || callers_.size() >= kMostCallers) return;
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(line.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return;
  if (peer.uid != ::geteuid() && peer.uid != 0) return;
  Caller& caller = callers_.emplace_back();
  caller.line = std::move(line);
  caller.pid = peer.pid;
  caller.limit = loop_.after(kHandshakeLimit, [this, &caller] { drop(caller); });
  loop_.watch(caller.line.get(), EPOLLIN, [this, &caller] { hear(caller); });
}

void LateClients::drop(Caller& caller) {
  loop_.cancel(caller.limit);
  if (caller.line.is_open()) loop_.forget(caller.line.get());
  callers_.remove_if([&caller](const Caller& each) { return &each == &caller; });
}

void LateClients::hear(Caller& caller) {
  char chunk[kLongestHandshake];
  const ssize_t count = ::recv(caller.line.get(), chunk, sizeof chunk, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count > 0) caller.received.append(chunk, static_cast<std::size_t>(count));
  if (count <= 0 || caller.received.size() > kLongestHandshake) return drop(caller);
  if (caller.received.back() == '\n') answer(caller);
}

void LateClients::answer(Caller& caller) {
  caller.received.pop_back();
  const boot::WireMessage handshake(caller.received);
  const int rank = handshake.number("rank", -1);
  if (handshake.command() != "join" || !equal_secrets(handshake.field("secret"), job_secret())) return drop(caller);
  const std::string verdict = callbacks_.judge(rank, caller.pid);
  say(caller.line.get(), "cmd=join_result " + verdict);
  Descriptor line;
  if (verdict == "rc=0") {
    loop_.forget(caller.line.get());
    line = std::move(caller.line);
  }
  drop(caller);
  if (line.is_open()) callbacks_.join(rank, std::move(line));
}

}  // namespace hr::launcher
