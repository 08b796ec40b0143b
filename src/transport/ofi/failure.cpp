// Failed paths and the operations on them; silent processes.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "boot/process_name.hpp"
#include "transport/network/probe.hpp"
#include "transport/network/silence.hpp"
#include "transport/network/socket_address.hpp"
#include "transport/ofi/endpoint.hpp"

namespace hr::transport::ofi {
namespace {

constexpr double kTick = 0.25;            // seconds between checks of silent peers
constexpr double kStuckTime = 0.5;        // seconds of refusals before a peer is probed
constexpr double kLongestProbePause = 8;  // every probe takes a place in the queue of a process that computes
// Names what to check if the two processes have never been connected.
constexpr const char* kAdvice =
    ". They have never been connected: does a firewall drop or reject the packets (ranks listen on any port), or does "
    "this interface lead to another network (HEADRACE_NETWORK_DEVICES chooses one)?";

// True for errors of a network that may be back soon, and for the system's time-out.
bool is_silence(int error) noexcept {
  return error == ETIMEDOUT || error == ENETDOWN || error == ENETUNREACH || error == EHOSTDOWN || error == EHOSTUNREACH;
}

// Returns the text for an error of a process or host that does not answer; null: libfabric's text applies.
const char* text_of_silence(int error) noexcept {
  switch (error) {
    case FI_ETIMEDOUT:
      return "its host does not answer";
    case FI_EHOSTUNREACH:
    case FI_ENETUNREACH:
      return "its host cannot be reached";
    case FI_ECONNREFUSED:
      return "the connection was refused: the process has ended, or a firewall rejects the packets";
    default:
      return nullptr;
  }
}

}  // namespace

Status Ofi::why_failed(const Peer& peer) const {
  const std::string to = peer.socket.ss_family != AF_UNSPEC ? " to " + network::text_of(peer.socket) : "";
  const char* const why = text_of_silence(peer.failure);
  const char* const advice = peer.worked || !fabric_.is_kernel_network() ? "" : kAdvice;
  return fail(Errc::kOther, "the path to %s%s%s by the network (ofi, provider %s on %s%s) has failed: %s%s",
              boot::process_name(boot::processes(), peer.proc).c_str(), peer.host.empty() ? "" : " on host ",
              peer.host.c_str(), fabric_.provider().c_str(), fabric_.device().c_str(), to.c_str(),
              why != nullptr ? why : library_.text(peer.failure).c_str(), advice);
}

void Ofi::fail_path(Peer& peer, int error) {
  if (!note_failure(peer, error != 0 ? error : FI_EOTHER)) return;
  peer.probe.close();
  peer.host_probe.stop();
}

void Ofi::fail_unreachable(Peer& peer) { fail_path(peer, FI_EHOSTUNREACH); }

// Ends operations on broken paths; called within progress.
void Ofi::end_broken() {
  for (Peer* const broken : std::exchange(broken_, {})) {
    std::erase(unheard_, broken);
    requests_.release(*broken);
    if (broken->connected) fabric_.remove_address(broken->address);
    std::vector<std::pair<Operation*, Registration>> ended;
    for (auto each = sources_.begin(); each != sources_.end();) {
      if (each->second.peer != broken) {
        ++each;
        continue;
      }
      ended.emplace_back(each->second.done, each->second.registration);
      each = sources_.erase(each);
    }
    std::vector<Operation*> fetched;
    for (Fetch* const each : fetches_) {
      if (&each->peer != broken) continue;
      each->error = broken->failure;
      fetched.push_back(std::exchange(each->done, nullptr));
    }
    failed_.add(broken);
    for (auto& [done, registration] : ended) {
      Fabric::remove(&registration);
      done->end(Errc::kOther);
    }
    for (Operation* const done : fetched) {
      if (done != nullptr) done->end(Errc::kOther);
    }
  }
}

// A provider over TCP does not report the loss of a connection on which nothing is being sent, and tries forever to
// connect to a process that has ended. So every peer gets a ping from time to time; a ping that is refused leads to a
// probe.
void Ofi::tick() {
  const double now = now_seconds();
  if (!unheard_.empty()) [[unlikely]]
    ask(now);
  if (now < next_tick_) return;
  // While the program computes, the provider does not try to connect.
  const double away = next_tick_ != 0 ? now - next_tick_ : 0;
  next_tick_ = now + kTick;
  const bool ping = now >= next_ping_;
  if (ping) next_ping_ = now + knobs().network_timeout / 4;
  for (auto& each : peers_) {
    if (each == nullptr || !each->connected || each->failure != 0) continue;
    if (each->stuck_since != 0) each->stuck_since += away;
    look_at(*each, now);
    if (!ping || each->pinging || each->in_doubt || each->failure != 0 || closing_) continue;
    each->pinging = true;
    post_word(
        *each, Front::kPing, 0, 0,
        [](Request& request, int error) {
          static_cast<Peer*>(request.line)->pinging = false;
          sent(request, error);
        },
        true);
  }
}

// A process that listens may take as long as it computes until it answers.
void Ofi::look_at(Peer& peer, double now) {
  if (peer.stuck_since == 0) {
    peer.probe.close();
    peer.probe_pause = kProbePause;
    peer.unanswered_since = 0;
    peer.probe_error = 0;
    return peer.host_probe.stop();
  }
  if (peer.probe.is_pending()) return look_at_probe(peer, now);
  if (now - peer.stuck_since < kStuckTime || now - peer.probed_at < peer.probe_pause) return;
  if (peer.socket.ss_family == AF_UNSPEC) {
    if (!peer.worked && now - peer.stuck_since > network::silence_seconds()) fail_path(peer, FI_ETIMEDOUT);
  } else if (peer.probe.begin(peer.socket)) {
    peer.probed_at = now;
    if (peer.unanswered_since == 0) peer.unanswered_since = now;
  }
}

// Nothing answers while the peer's queue of connections is full (network/probe.hpp), so only a silent host fails.
void Ofi::look_at_probe(Peer& peer, double now) {
  int error = 0;
  const bool answered = peer.probe.answered(&error);
  if (answered && is_silence(error)) {
    peer.probe_error = error;
  } else if (answered) {
    // The process has closed the connection (ECONNRESET), or keeps it, so it listens.
    if (error != 0 && error != ECONNRESET) return fail_path(peer, error);
    peer.probed_at = now;
    peer.stuck_since = now;
    peer.unanswered_since = 0;
    peer.probe_error = 0;
    peer.probe_pause = std::min(2 * peer.probe_pause, kLongestProbePause);
    return peer.host_probe.stop();
  }
  if (now - peer.unanswered_since < kTick) return;
  if (peer.host_probe.silent_seconds(network::with_port(peer.socket, peer.closed_port), now) >
      network::silence_seconds()) {
    return fail_path(peer, peer.probe_error != 0 ? peer.probe_error : FI_ETIMEDOUT);
  }
  const bool is_long = now - peer.unanswered_since > network::silence_seconds();
  if (is_long && peer.host_probe.has_answered() && !std::exchange(said_full_, true))
    network::note_full_queue("ofi", boot::process_name(boot::processes(), peer.proc), peer.host, peer.socket);
  if (peer.probe.is_pending() && now - peer.probed_at < peer.probe_pause) return;
  peer.probe.close();
  peer.probe_pause = std::min(2 * peer.probe_pause, kLongestProbePause);
  peer.probed_at = now;
  static_cast<void>(peer.probe.begin(peer.socket));
}

}  // namespace hr::transport::ofi
