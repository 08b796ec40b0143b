// Connections: their addresses, making and accepting them, and the proofs that open them.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/dropped.hpp"
#include "base/knobs.hpp"
#include "base/lock.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "boot/boot.hpp"
#include "boot/process_name.hpp"
#include "transport/network/probe.hpp"
#include "transport/network/silence.hpp"
#include "transport/network/socket_address.hpp"
#include "transport/tcp/endpoint.hpp"

namespace hr::transport::tcp {
namespace {

constexpr double kProofSeconds = 1;         // time in which a connection must prove the key
constexpr std::size_t kMostUnproven = 256;  // beyond it, the oldest is closed
constexpr int kAcceptedAtOnce = 32;
constexpr double kRetrySeconds = 0.01;
// Number of attempts after which a path fails, once they have taken HEADRACE_NETWORK_TIMEOUT. For errors without a
// reason_of(), only the time counts.
constexpr int kLeastAttempts = 20;
// Time after which an attempt that the system has not completed raises doubt.
constexpr double kDoubtSeconds = 0.25;
// Pauses between attempts to which nothing answers. The requesting system repeats a request at intervals that double; a
// new request finds room earlier.
constexpr double kRedialSeconds = 2;
constexpr double kLongestRedialSeconds = 4;

// True if a later attempt may succeed, because the system may then have a port, a descriptor or memory, or the network
// may be back.
bool is_passing(int error) noexcept {
  switch (error) {
    case EADDRNOTAVAIL:
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ETIMEDOUT:
      return true;
    default:
      return false;
  }
}

// Returns the reason why all attempts failed, if the last one ended with this error; null: the system's text applies.
const char* reason_of(int error) noexcept {
  switch (error) {
    case 0:
      return "every connection to it was closed (a process that can open no more files closes them: ulimit -n)";
    case EMFILE:
      return "this process can open no more files for connections (ulimit -n)";
    case ENFILE:
      return "this host can open no more files for connections (fs.file-max)";
    case EADDRNOTAVAIL:
    case EAGAIN:
      return "this host has no free port (net.ipv4.ip_local_port_range)";
    default:
      return nullptr;
  }
}

// Returns the text for an error of a connection that was never made, with what to check; null: the system's text
// applies.
const char* text_of_refusal(int error) noexcept {
  switch (error) {
    case ETIMEDOUT:
      return "its host does not answer. Does a firewall drop the packets (ranks listen on any port), or does this "
             "interface lead to another network (HEADRACE_NETWORK_DEVICES chooses one)?";
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return "its host cannot be reached (no route, or a firewall rejects the packets). HEADRACE_NETWORK_DEVICES "
             "chooses "
             "another interface";
    case ENETDOWN:
      return "the network is down (ip link)";
    case EACCES:
    case EPERM:
      return "this host does not permit the connection: a firewall, or a route of type \"prohibit\" (ip route, ip "
             "rule)";
    case ECONNREFUSED:
      return "the connection was refused: the process has ended, or a firewall rejects the packets";
    default:
      return reason_of(error);
  }
}

void set(int socket, int level, int option, int value) noexcept {
  static_cast<void>(::setsockopt(socket, level, option, &value, sizeof value));
}

// Makes short messages leave at once, and lets little data wait in the system, where it would delay later messages.
void configure(int socket) noexcept {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 2 * static_cast<int>(kChunk));
}

// Lets the system notice that the host of an idle peer no longer answers. On the loopback interface there is nothing to
// notice, and the probes of hundreds of processes to one another would fill the system's queue of packets.
void probe_host(int socket, const Interface& interface) noexcept {
  if (interface.is_loopback) return;
  const network::Probes probes = network::keepalive_probes();
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, static_cast<int>(probes.first)));
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, static_cast<int>(probes.between)));
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, network::Probes::kCount);
}

// Returns the number of bytes up to which collecting frames pays: several fit into a segment of the connection. Longer
// frames would leave parts of segments to wait for one another.
std::size_t most_collected(int socket) noexcept {
  constexpr int kFramesPerSegment = 3;
  int segment = 0;
  socklen_t length = sizeof segment;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_MAXSEG, &segment, &length) != 0) return 0;
  return static_cast<std::size_t>(segment / kFramesPerSegment);
}

}  // namespace

Status Tcp::set_peer_address(int proc, const std::string& address) {
  HR_TRY(NetworkTransport::set_peer_address(proc, address));
  // Names connections that the process made before this one learnt its name.
  for (Connection* const each : std::vector(unproven_)) {
    if (each->stage == Stage::kUnnamed) name(*each);
  }
  return kOk;
}

Status Tcp::address_of(Peer& peer) {
  if (whole_ != nullptr) {
    const LibraryGuard guard;
    Peer& known = whole_->peer(peer.proc);
    HR_TRY(whole_->address_of(known));
    peer.address = known.address;
    peer.closed_port = known.closed_port;
    peer.key = known.key;
    peer.host = known.host;
    return kOk;
  }
  if (peer.address.ss_family != AF_UNSPEC) return kOk;
  std::vector<std::byte> address;
  HR_TRY(fetch_address(peer, &address));
  if (network::split_secret(&address, &peer.key[1]) && network::split_secret(&address, &peer.key[0]) &&
      network::split_port(&address, &peer.closed_port) && read_address(address, &peer.address))
    return kOk;
  return fail(Errc::kOther, "tcp: the network address of %s is malformed",
              boot::process_name(boot::processes(), peer.proc).c_str());
}

Status Tcp::connect(int proc) {
  Peer& to = peer(proc);
  const bool has_path = to.out != nullptr || to.retry_at != 0 || to.failure != 0;
  if (!to.is_located) {
    // If the peer has connected, its address only says on which host it is.
    if (const Status found = address_of(to); !found.ok()) {
      if (!has_path) return found;
      static_cast<void>(take_detail());
    }
    to.is_located = true;
    to.tuned_eager_bytes = network::tuned_eager_bytes(host_name(), to.host);
    log::write(log::Level::kDecision, "tcp: rank %d is reached by %s on interface %s; sent unasked: up to %zu bytes",
               proc, text_of(to.address).c_str(), interface_.name.c_str(), caps(proc).eager_bytes);
  }
  if (has_path) return kOk;
  connecting_.push_back(&to);
  dial(to);
  return kOk;
}

void Tcp::dial(Peer& peer) {
  peer.retry_at = 0;
  const int socket = ::socket(peer.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return is_passing(errno) ? try_later(peer, errno) : fail_path(peer, errno);
  configure(socket);
  const int result = ::connect(socket, reinterpret_cast<const sockaddr*>(&peer.address), length_of(peer.address));
  const int error = result == 0 ? 0 : errno;
  if (is_passing(error)) {
    ::close(socket);
    return try_later(peer, error);
  }
  if (error != 0 && error != EINPROGRESS) {
    ::close(socket);
    return fail_path(peer, error, text_of_refusal(error));
  }
  Connection* const made = add(socket, false, EPOLL_CTL_ADD);
  if (made == nullptr) return fail_path(peer, errno);
  made->peer = &peer;
  peer.out = made;
  peer.connections.push_back(made);
  // The loopback interface connects at once, although connect() does not say so.
  sockaddr_storage other{};
  socklen_t length = sizeof other;
  if (error == 0 || ::getpeername(socket, reinterpret_cast<sockaddr*>(&other), &length) == 0) return connected(*made);
  made->stage = Stage::kConnecting;
  if (peer.unanswered_since == 0) {
    peer.unanswered_since = made->since;
    peer.redial_pause = kRedialSeconds;
  }
  watch(*made, true);
}

Connection* Tcp::add(int socket, bool accepted, int operation) {
  auto made = std::make_unique<Connection>();
  made->socket = socket;
  made->accepted = accepted;
  made->since = now_seconds();
  epoll_event event{.events = EPOLLIN, .data = {.ptr = made.get()}};
  if (::epoll_ctl(events_, operation, socket, &event) != 0) {
    ::close(socket);
    return nullptr;
  }
  connections_.push_back(std::move(made));
  return connections_.back().get();
}

// Deletes nothing: events of this round, or a caller, may still refer to the connection.
void Tcp::close(Connection& connection) {
  if (connection.stage == Stage::kClosed) return;
  connection.stage = Stage::kClosed;
  if (connection.socket >= 0) ::close(std::exchange(connection.socket, -1));
  std::erase(unproven_, &connection);
  has_closed_ = true;
  if (connection.peer == nullptr) return;
  std::erase(connection.peer->connections, &connection);
  if (connection.peer->out == &connection) connection.peer->out = nullptr;
}

void Tcp::accept_some() {
  for (int left = kAcceptedAtOnce; left != 0; --left) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
      if (errno != EMFILE && errno != ENFILE) return;
      if (!std::exchange(said_deaf_, true)) {
        log::write(log::Level::kError,
                   "tcp: this process can open no more files, so other ranks must wait until it accepts their "
                   "connections: %s. Raise the limit: ulimit -n",
                   std::strerror(errno));
      }
      return listen(false);
    }
    configure(socket);
    Connection* const made = add(socket, true, EPOLL_CTL_ADD);
    if (made == nullptr) continue;
    unproven_.push_back(made);
    if (unproven_.size() > kMostUnproven) {
      drop_message(-1, "too many connections have not proven that they belong to this job");
      close(*unproven_.front());
    }
    read_hello(*made);
  }
}

void Tcp::listen(bool on) {
  is_deaf_ = !on;
  epoll_event event{.events = on ? static_cast<std::uint32_t>(EPOLLIN) : 0, .data = {.ptr = nullptr}};
  static_cast<void>(::epoll_ctl(events_, EPOLL_CTL_MOD, listener_, &event));
}

void Tcp::connected(Connection& connection) {
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(connection.socket, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  Peer& to = *connection.peer;
  // The system has repeated its request in vain for minutes, in which this process made no round of progress.
  if (error == ETIMEDOUT) return redial(to);
  // The other system had no room for the connection after all, or the process has closed it (ended() says why).
  if (error == ECONNRESET) return try_again(connection, 0);
  if (is_passing(error)) return try_again(connection, error);
  if (error != 0) return fail_path(to, error, text_of_refusal(error));
  to.unanswered_since = 0;
  to.host_probe.stop();
  probe_host(connection.socket, interface_);
  connection.stage = Stage::kGreeting;
  watch(connection, false);
  connection.hello = make_hello(to.key, to.own_name, channel_);
  // A new connection has room for the Hello.
  if (::send(connection.socket, &connection.hello, sizeof(Hello), MSG_NOSIGNAL) != sizeof(Hello))
    try_again(connection, 0);
}

void Tcp::redial(Peer& peer) {
  close(*peer.out);
  // Nothing has been sent yet, so a connection that the peer has made meanwhile will do.
  const auto made = std::ranges::find(peer.connections, Stage::kOpen, &Connection::stage);
  made != peer.connections.end() ? opened(**made, peer) : dial(peer);
}

void Tcp::try_again(Connection& connection, int error) {
  Peer& to = *connection.peer;
  close(connection);
  try_later(to, error);
}

void Tcp::try_later(Peer& peer, int error) {
  peer.last_error = error;
  peer.unanswered_since = 0;
  peer.host_probe.stop();
  const double now = now_seconds();
  if (peer.failing_since == 0) peer.failing_since = now;
  ++peer.attempts;
  peer.retry_at = now + kRetrySeconds;
}

bool Tcp::read_proof(Connection& connection, void* proof, std::size_t bytes) {
  // Receives no more than the proof; read() receives the bytes that follow.
  const ssize_t got =
      ::recv(connection.socket, connection.proof.data() + connection.proven, bytes - connection.proven, 0);
  if (got > 0) {
    connection.proven += static_cast<std::size_t>(got);
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    ended(connection, got == 0 ? 0 : errno);
    return false;
  }
  if (connection.proven < bytes) return false;
  std::memcpy(proof, connection.proof.data(), bytes);
  return true;
}

void Tcp::read_hello(Connection& connection) {
  if (!read_proof(connection, &connection.hello, sizeof(Hello))) return;
  if (!is_proven(key_, connection.hello)) {
    drop_message(-1, "a connection does not prove that it belongs to this job");
    return close(connection);
  }
  if (!challenges_.insert(connection.hello.challenge).second) {
    drop_message(-1, "a connection repeats the proof of an earlier one");
    return close(connection);
  }
  connection.stage = Stage::kUnnamed;
  name(connection);
}

void Tcp::name(Connection& connection) {
  const int proc = names_.proc_of(connection.hello.name, names_.own_secret());
  if (connection.hello.channel != 0) return pass_on(connection, proc);
  if (proc >= 0) welcome(connection, proc);
}

void Tcp::welcome(Connection& connection, int proc) {
  Peer& from = peer(proc);
  if (from.was_named || from.failure != 0) {
    drop(proc, "it has connected before, or the path to it has failed");
    return close(connection);
  }
  const Welcome answer = make_welcome(key_, connection.hello.challenge);
  if (::send(connection.socket, &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer) return close(connection);
  std::erase(unproven_, &connection);
  from.was_named = true;
  from.connections.push_back(&connection);
  connection.peer = &from;
  opened(connection, from);
}

void Tcp::read_welcome(Connection& connection) {
  Welcome welcome{};
  if (!read_proof(connection, &welcome, sizeof welcome)) return;
  Peer& to = *connection.peer;
  if (!is_proven(to.key, connection.hello.challenge, welcome))
    return fail_path(to, ECONNREFUSED, "the program that answers at its address does not belong to this job");
  std::erase(connecting_, &to);
  opened(connection, to);
}

void Tcp::opened(Connection& connection, Peer& peer) {
  if (connection.accepted) probe_host(connection.socket, interface_);
  connection.stage = Stage::kOpen;
  connection.most_collected = most_collected(connection.socket);
  peer.failing_since = 0;
  peer.attempts = 0;
  if (peer.out == nullptr) {
    peer.out = &connection;
    peer.retry_at = 0;
    peer.unanswered_since = 0;
    peer.host_probe.stop();
    std::erase(connecting_, &peer);
  }
  if (peer.out == &connection) flush(peer);
}

// Closes connections that have not opened in time, and repeats failed attempts to connect, or gives them up.
void Tcp::check_connections(double now) {
  for (Connection* const each : std::vector(unproven_)) {
    const double limit = each->stage == Stage::kUnnamed ? knobs().network_timeout : kProofSeconds;
    if (now - each->since < limit) continue;
    drop_message(-1, "a connection has not proven that it belongs to this job");
    close(*each);
  }
  for (Peer* const each : std::vector(connecting_)) {
    if (each->out != nullptr && each->out->stage == Stage::kConnecting) {
      check_unanswered(*each, now);
    } else if (each->retry_at != 0 && now >= each->retry_at) {
      // A network that is down may need seconds to refuse an attempt.
      const bool enough = each->attempts >= kLeastAttempts || reason_of(each->last_error) == nullptr;
      const bool hopeless = enough && now - each->failing_since > knobs().network_timeout;
      hopeless ? fail_path(*each, each->last_error, text_of_refusal(each->last_error)) : dial(*each);
    }
  }
}

// Nothing answers while the peer's queue of connections is full (network/probe.hpp), so only a silent host fails. Once
// the system has made the connection, only the peer itself may be slow to answer, which has no time limit.
void Tcp::check_unanswered(Peer& peer, double now) {
  if (now - peer.unanswered_since < kDoubtSeconds) return;
  if (peer.host_probe.silent_seconds(network::with_port(peer.address, peer.closed_port), now) >
      network::silence_seconds()) {
    // A system that rejects packets may limit the rate of its answers.
    const int error = peer.last_error != 0 ? peer.last_error : ETIMEDOUT;
    return fail_path(peer, error, text_of_refusal(error));
  }
  if (peer.host_probe.has_answered()) {
    // Earlier attempts have failed for another reason, which has passed.
    peer.failing_since = 0;
    peer.attempts = 0;
    peer.last_error = 0;
  }
  const bool is_long = now - peer.unanswered_since > network::silence_seconds();
  if (is_long && peer.host_probe.has_answered() && !std::exchange(said_full_, true)) {
    const LibraryGuard guard;
    network::note_full_queue("tcp", boot::process_name(boot::processes(), peer.proc), peer.host, peer.address);
  }
  const bool has_other =
      std::ranges::find(peer.connections, Stage::kOpen, &Connection::stage) != peer.connections.end();
  if (now - peer.out->since < (has_other ? kRedialSeconds : peer.redial_pause)) return;
  peer.redial_pause = std::min(2 * peer.redial_pause, kLongestRedialSeconds);
  redial(peer);
}

}  // namespace hr::transport::tcp
