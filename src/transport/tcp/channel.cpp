// Channels: how they are made and ended, and how connections reach them.
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/dropped.hpp"
#include "base/lock.hpp"
#include "base/log.hpp"
#include "transport/network/channels.hpp"
#include "transport/tcp/endpoint.hpp"

namespace hr::transport::tcp {
namespace {

// Descriptors of a channel apart from its connections: for events, and for threads that sleep.
constexpr std::size_t kDescriptorsOfChannel = 3;
// Descriptors for a process on another host, if both sides connect at the same time.
constexpr std::size_t kDescriptorsOfPair = 2;
constexpr int kMostChannels = 32;

}  // namespace

Tcp::Tcp(Tcp& whole, int number, const Handlers& handlers)
    : NetworkTransport(whole, handlers),
      whole_(&whole),
      channel_(static_cast<std::uint32_t>(number)),
      key_(whole.key_),
      interface_(whole.interface_),
      cost_(whole.cost_),
      others_(whole.others_) {}

// Leaves half of the descriptors to the program and to the transport itself.
int Tcp::most_channels() const noexcept {
  if (late_ || whole_ != nullptr) return 0;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMostChannels;
  const std::size_t each = kDescriptorsOfChannel + kDescriptorsOfPair * others_;
  const auto most = static_cast<int>(std::min<std::size_t>(kMostChannels, limit.rlim_cur / 2 / each));
  if (most == 0) {
    log::write(rank_ == 0 ? log::Level::kNote : log::Level::kDecision,
               "tcp: threads that communicate with other hosts share one lock: with %zu processes there, this process "
               "may not open enough files for channels (ulimit -n: %zu)",
               others_, static_cast<std::size_t>(limit.rlim_cur));
  }
  return most;
}

Status Tcp::make_channel(int number, const Handlers& handlers, std::unique_ptr<Transport>* out) {
  const auto at = static_cast<std::size_t>(number);
  auto made = std::make_unique<Tcp>(*this, number, handlers);
  HR_TRY(made->open_events());
  channels_.resize(std::max(channels_.size(), at + 1));
  channels_[at] = made.get();
  *out = std::move(made);
  return kOk;
}

void Tcp::pass_on(Connection& connection, int proc) {
  const std::size_t number = connection.hello.channel;
  const bool is_ours = proc >= 0 && static_cast<std::size_t>(proc) < job_size_;
  const auto is_open = [&] { return is_ours && number < channels_.size() && channels_[number] != nullptr; };
  if (is_ours && !is_open() && network::channel_maker != nullptr)
    network::channel_maker(proc, static_cast<int>(std::min<std::size_t>(number, INT32_MAX)));
  if (!is_open()) {
    drop_message(proc, "it connects to a channel that this process does not have");
    return close(connection);
  }
  const Handed handed{std::exchange(connection.socket, -1), proc, connection.hello};
  static_cast<void>(::epoll_ctl(events_, EPOLL_CTL_DEL, handed.socket, nullptr));
  if (!channels_[number]->hand_over(handed)) {
    drop_message(proc, "it has connected to this channel before, or there is no memory");
    ::close(handed.socket);
  }
  close(connection);
}

// Threads that exchange messages without a pause on channels may make no round of progress on the whole for long.
void Tcp::accept_beside() {
  if (!LibraryLock::enabled() || !LibraryLock::try_acquire()) return;
  whole_->accept_some();
  for (Connection* const each : std::vector(whole_->unproven_)) {
    if (each->stage == Stage::kGreeting) whole_->read_hello(*each);
  }
  LibraryLock::release();
}

// The new connection has room to send, so the requested event (EPOLLOUT) occurs at once.
bool Tcp::hand_over(const Handed& connection) {
  const std::scoped_lock lock(handed_mutex_);
  const auto same = [&](const Handed& each) { return each.proc == connection.proc; };
  if (std::ranges::any_of(handed_, same)) return false;
  epoll_event event{.events = EPOLLOUT, .data = {.ptr = &handed_}};
  if (::epoll_ctl(events_, EPOLL_CTL_ADD, connection.socket, &event) != 0) return false;
  handed_.push_back(connection);
  return true;
}

void Tcp::take_handed() {
  std::vector<Handed> taken;
  {
    const std::scoped_lock lock(handed_mutex_);
    taken.swap(handed_);
  }
  for (const Handed& each : taken) {
    Connection* const made = add(each.socket, true, EPOLL_CTL_MOD);
    if (made == nullptr) continue;
    made->hello = each.hello;
    made->stage = Stage::kUnnamed;
    welcome(*made, each.proc);
  }
}

}  // namespace hr::transport::tcp
