// Failed paths and the operations on them; silent hosts.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/dropped.hpp"
#include "base/knobs.hpp"
#include "base/lock.hpp"
#include "boot/process_name.hpp"
#include "transport/network/silence.hpp"
#include "transport/tcp/endpoint.hpp"

namespace hr::transport::tcp {
namespace {

constexpr double kLooksPerTimeout = 8;
constexpr double kTick = 0.25;            // seconds between looks at connections
constexpr double kTickConnecting = 0.01;  // the same while connections are being made

}  // namespace

Status Tcp::why_failed(const Peer& peer) const {
  const LibraryGuard guard;
  const std::string to = peer.address.ss_family != AF_UNSPEC ? " to " + text_of(peer.address) : "";
  return fail(Errc::kOther, "the path to %s%s%s by the network (tcp, interface %s%s) has failed: %s",
              boot::process_name(boot::processes(), peer.proc).c_str(), peer.host.empty() ? "" : " on host ",
              peer.host.c_str(), interface_.name.c_str(), to.c_str(),
              peer.why != nullptr ? peer.why : std::strerror(peer.failure));
}

void Tcp::drop(int proc, const char* why) noexcept {
  const LibraryGuard guard;
  drop_message(proc, why);
}

void Tcp::fail_path(Peer& peer, int error, const char* why) {
  if (!note_failure(peer, error != 0 ? error : EIO)) return;
  peer.why = why;
  peer.host_probe.stop();
  std::erase(connecting_, &peer);
}

void Tcp::fail_unreachable(Peer& peer) { fail_path(peer, EHOSTUNREACH); }

void Tcp::malformed(Peer& peer) {
  drop(peer.proc, "it has sent bytes that this library does not send (does it run another version?)");
  fail_path(peer, EPROTO, "it has sent bytes that this library does not send");
  // Nothing that follows on its connections can be understood.
  while (!peer.connections.empty()) close(*peer.connections.front());
}

// Called when the other side or the system has closed the connection.
void Tcp::ended(Connection& connection, int error) {
  Peer* const peer = connection.peer;
  if (peer == nullptr) return close(connection);
  // A busy process may close a connection before it has read the Hello.
  if (connection.stage == Stage::kGreeting && peer->failure == 0) return try_again(connection, 0);
  close(connection);
  // The last messages of a process that has ended may have arrived on its other connection.
  for (Connection* const each : std::vector(peer->connections)) {
    while (read(*each)) {
    }
  }
  if (peer->has_left && peer->queue.empty() && peer->streams.empty()) return;
  if (error != 0) return fail_path(*peer, error);
  fail_path(*peer, ECONNRESET, "the other process has closed the connection (it has ended, or has given up this path)");
}

void Tcp::drop_queue(Peer& peer) {
  peer.streams.clear();
  peer.queued = 0;
  peer.holds_message = false;
  for (const Piece& each : std::exchange(peer.queue, {})) {
    if (each.buffer != nullptr) buffers_.give_back(each.buffer);
  }
}

// Ends operations on broken paths; called within progress.
void Tcp::end_broken() {
  for (Peer* const broken : std::exchange(broken_, {})) {
    while (!broken->connections.empty()) close(*broken->connections.front());
    drop_queue(*broken);
    std::vector<Operation*> ended;
    std::erase_if(sources_, [&](const auto& each) {
      if (each.second.peer != broken) return false;
      ended.push_back(each.second.done);
      return true;
    });
    for (const auto& [number, fetch] : std::exchange(broken->fetches, {})) ended.push_back(fetch.done);
    failed_.add(broken);
    for (Operation* const done : ended) done->end(Errc::kOther);
  }
}

void Tcp::tick(bool seen_all) {
  const double now = now_seconds();
  if (now < next_tick_) return;
  const bool connecting = !connecting_.empty() || !unproven_.empty();
  next_tick_ = now + (connecting ? kTickConnecting : kTick);
  if (is_deaf_) listen(true);
  if (connecting && seen_all) check_connections(now);
  if (now < next_look_) return;
  next_look_ = now + knobs().network_timeout / kLooksPerTimeout;
  for (auto& each : peers_) {
    if (each != nullptr && each->failure == 0) look_at(*each);
  }
}

// Detects a host that no longer answers. While nothing is sent to it, the system does so (SO_KEEPALIVE), but it repeats
// unacknowledged data for a quarter of an hour. A peer that computes, and so does not receive, acknowledges everything.
void Tcp::look_at(Peer& peer) {
  if (!peer.is_open()) return;
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(peer.out->socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return;
  const bool repeats = info.tcpi_retransmits > 1 || info.tcpi_probes > 1;
  if (repeats && info.tcpi_last_ack_recv > network::silence_seconds() * 1e3) fail_path(peer, ETIMEDOUT);
}

void Tcp::sweep() {
  has_closed_ = false;
  std::erase_if(connections_, [](const auto& each) { return each->stage == Stage::kClosed; });
}

}  // namespace hr::transport::tcp
