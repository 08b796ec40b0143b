#include "boot/callers.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <iterator>
#include <utility>

#include "base/clock.hpp"

namespace hr::boot {

Callers::Heard Callers::hear(Caller& caller) {
  if (!caller.channel->step().ok()) {
    static_cast<void>(take_detail());  // discards the reason: any process may have connected
    return Heard::kNoCaller;
  }
  return caller.channel->greeted() ? Heard::kProof : Heard::kNothing;
}

// Reads callers' greetings before checking their time limit, as a secret may have arrived in the meantime.
std::unique_ptr<Channel> Callers::hear_all() {
  for (auto each = callers_.begin(); each != callers_.end();) {
    const Heard heard = hear(*each);
    if (heard == Heard::kProof) {
      std::unique_ptr<Channel> channel = std::move(each->channel);
      callers_.erase(each);
      return channel;
    }
    const bool goes = heard == Heard::kNoCaller || now_seconds() > each->since + kSeconds;
    dropped_ += goes ? 1 : 0;
    each = goes ? callers_.erase(each) : std::next(each);
  }
  return nullptr;
}

// Drops the oldest caller if there are too many; false if all are too new, so that the next caller waits in the
// socket's queue.
bool Callers::make_room() {
  if (callers_.size() < kMost) return true;
  if (now_seconds() < callers_.front().since + kLeastSeconds) return false;
  callers_.pop_front();
  ++dropped_;
  return true;
}

std::unique_ptr<Channel> Callers::next(int listening) {
  if (std::unique_ptr<Channel> proven = hear_all(); proven != nullptr) return proven;
  for (std::size_t taken = 0; taken < kMostAtOnce && make_room(); ++taken) {
    const int socket = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (socket < 0) return nullptr;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Caller caller{std::make_unique<Channel>(socket, true, greeting_), now_seconds()};
    switch (hear(caller)) {
      case Heard::kProof:
        return std::move(caller.channel);
      case Heard::kNoCaller:
        ++dropped_;
        break;
      case Heard::kNothing:
        callers_.push_back(std::move(caller));
    }
  }
  return nullptr;
}

}  // namespace hr::boot
