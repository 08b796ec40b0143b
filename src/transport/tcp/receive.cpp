// Receiving, and rounds of progress.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transport/tcp/endpoint.hpp"

namespace hr::transport::tcp {
namespace {

// Maximum number of system calls for one connection in a round, so that no connection keeps the others waiting.
constexpr int kReadsAtOnce = 8;
// Number of rounds with events after which silent hosts are looked for.
constexpr int kRoundsPerTick = 256;
// Number of rounds of a channel after which it accepts connections for the transport itself.
constexpr unsigned kRoundsAlone = 1024;

}  // namespace

bool Tcp::progress() {
  push();
  std::array<epoll_event, 32> events;
  const int count = ::epoll_wait(events_, events.data(), events.size(), 0);
  bool any = false;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if (event.data.ptr == nullptr) {
      accept_some();
    } else if (event.data.ptr == &handed_) {
      take_handed();
      any = true;
    } else {
      any |= serve(*static_cast<Connection*>(event.data.ptr), event.events);
    }
  }
  if (!unwatched_.empty()) [[unlikely]]
    watch_some();
  if (whole_ != nullptr && ++rounds_alone_ % kRoundsAlone == 0) accept_beside();
  if (count <= 0 || ++rounds_ % kRoundsPerTick == 0 || !connecting_.empty() || !unproven_.empty())
    tick(count < static_cast<int>(events.size()));
  if (!broken_.empty()) [[unlikely]]
    end_broken();
  if (!failed_.empty()) [[unlikely]]
    tell_failed();
  if (has_closed_) [[unlikely]]
    sweep();
  return any;
}

// True if messages or data have arrived or left, or a connection may have opened.
bool Tcp::serve(Connection& connection, std::uint32_t events) {
  switch (connection.stage) {
    case Stage::kConnecting:
      connected(connection);
      return true;
    case Stage::kGreeting:
      connection.accepted ? read_hello(connection) : read_welcome(connection);
      return true;
    case Stage::kUnnamed:
      // The other side sends nothing before it is welcomed, so it must have closed the connection.
      close(connection);
      return false;
    case Stage::kOpen:
      break;
    case Stage::kClosed:
      return false;
  }
  bool any = false;
  if ((events & EPOLLOUT) != 0 && connection.peer->out == &connection) {
    flush(*connection.peer);
    any = true;
  }
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) any |= read(connection);
  return any;
}

// Receives data at its destination, unless it must be unpacked, and everything else in a landing, where an incomplete
// frame at the end waits for its rest. A connection keeps its landing only while it contains such a frame.
bool Tcp::read(Connection& connection) {
  bool any = false;
  if (connection.landing == nullptr) connection.landing = take_landing();
  Landing& landing = *connection.landing;
  for (int left = kReadsAtOnce; left != 0 && connection.stage == Stage::kOpen; --left) {
    std::array<iovec, 2> parts{};
    if (connection.left != 0 && connection.fetch->into->unpack == nullptr)
      parts[0] = {connection.fetch->into->address + connection.offset, connection.left};
    parts[1] = landing.room();
    const std::size_t placed = parts[0].iov_len;
    const std::size_t room = parts[1].iov_len;
    msghdr message{};
    message.msg_iov = placed != 0 ? parts.data() : &parts[1];
    message.msg_iovlen = placed != 0 ? 2 : 1;
    const ssize_t got = ::recvmsg(connection.socket, &message, 0);
    if (got <= 0) {
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) ended(connection, got == 0 ? 0 : errno);
      break;
    }
    any = true;
    const auto bytes = static_cast<std::size_t>(got);
    const std::size_t here = std::min(bytes, placed);
    if (here != 0) take_data(connection, nullptr, here);
    landing.end += bytes - here;
    parse(connection, landing);
    if (landing.is_empty() && bytes < placed + room) break;  // nothing more has arrived
  }
  if (landing.is_empty() || connection.stage != Stage::kOpen) give_back(std::move(connection.landing));
  return any;
}

std::unique_ptr<Landing> Tcp::take_landing() {
  if (landings_.empty()) return std::make_unique<Landing>();
  std::unique_ptr<Landing> taken = std::move(landings_.back());
  landings_.pop_back();
  return taken;
}

void Tcp::give_back(std::unique_ptr<Landing> landing) {
  if (landing == nullptr || landings_.size() == kMostLandings) return;
  landing->begin = landing->end = 0;
  landings_.push_back(std::move(landing));
}

// Delivers everything but an incomplete frame at the end.
void Tcp::parse(Connection& connection, Landing& landing) {
  while (!landing.is_empty() && connection.stage == Stage::kOpen) {
    const std::byte* const data = landing.bytes.get() + landing.begin;
    const std::size_t bytes = landing.end - landing.begin;
    if (connection.left != 0) {
      const std::size_t part = std::min(bytes, connection.left);
      landing.begin += part;
      take_data(connection, data, part);
      continue;
    }
    landing.needed = sizeof(FrameHead);
    if (bytes < landing.needed) return;
    FrameHead head;
    std::memcpy(&head, data, sizeof head);
    if (!is_valid(head)) return malformed(*connection.peer);
    if (head.kind == Frame::kData) {
      landing.begin += sizeof head;
      begin_data(connection, head);
      continue;
    }
    landing.needed += head.bytes;
    if (bytes < landing.needed) return;
    landing.begin += landing.needed;
    deliver(connection, head, data + sizeof head);
  }
  if (landing.is_empty()) landing.begin = landing.end = 0;
}

void Tcp::deliver(Connection& connection, const FrameHead& head, const std::byte* payload) {
  Peer& from = *connection.peer;
  const Header header = header_of(head);
  switch (head.kind) {
    case Frame::kMessage:
      handlers_.of_kind[kind_of(header)](from.proc, header, payload, head.bytes);
      return;
    case Frame::kReadyToSend:
      return deliver_rts(from, head, payload);
    case Frame::kFetch:
      return start_source(from, head.words[0], head.words[1]);
    case Frame::kDecline: {
      const auto found = sources_.find(head.words[0]);
      if (found == sources_.end() || found->second.peer != &from || found->second.wanted != 0)
        return drop(from.proc, "it declines the data of no pending rendezvous");
      return end_source(head.words[0], kOk);
    }
    case Frame::kDisconnect:
      from.has_left = true;
      return;
    case Frame::kData:
      return;  // taken by parse()
  }
}

void Tcp::deliver_rts(Peer& peer, const FrameHead& head, const std::byte* payload) {
  const std::size_t bytes = head.bytes - sizeof(Tail);
  Kept kept{peer.proc, {}};
  std::memcpy(&kept.tail, payload + bytes, sizeof kept.tail);
  const RendezvousData data{next_token_++};
  kept_.emplace(data.token, kept);
  std::byte with_token[network::kMostRtsPayload + sizeof data];
  std::memcpy(with_token, payload, bytes);
  std::memcpy(with_token + bytes, &data, sizeof data);
  const Header header = header_of(head);
  handlers_.of_kind[kind_of(header)](peer.proc, header, with_token, bytes + sizeof data);
}

void Tcp::begin_data(Connection& connection, const FrameHead& head) {
  Peer& from = *connection.peer;
  const auto found = from.fetches.find(head.words[0]);
  if (found == from.fetches.end()) return malformed(from);
  Fetch& fetch = found->second;
  const std::size_t bytes = fetch.into->bytes;
  // The parts of the data come in order, so none is written twice.
  const bool is_next = fetch.from == nullptr || fetch.from == &connection;
  if (!is_next || head.words[1] != fetch.arrived || head.bytes > bytes - fetch.arrived) return malformed(from);
  fetch.from = &connection;
  connection.fetch = &fetch;
  connection.number = head.words[0];
  connection.offset = fetch.arrived;
  connection.left = head.bytes;
}

// `data`: null if the bytes are in place already.
void Tcp::take_data(Connection& connection, const std::byte* data, std::size_t bytes) {
  Fetch& fetch = *connection.fetch;
  Sink& into = *fetch.into;
  if (into.unpack != nullptr) {
    into.unpack(into, connection.offset, data, bytes);
  } else if (data != nullptr) {
    std::memcpy(into.address + connection.offset, data, bytes);
  }
  connection.offset += bytes;
  connection.left -= bytes;
  fetch.arrived += bytes;
  if (fetch.arrived < into.bytes) return;
  Operation* const done = fetch.done;
  connection.fetch = nullptr;
  connection.peer->fetches.erase(connection.number);
  done->end(kOk);
}

// An event that has not been handled keeps the descriptor readable, so nothing needs to be armed.
bool Tcp::arm_arrivals() {
  const auto waits = [](const Peer* each) { return each->retry_at != 0; };
  return has_settled() && collecting_.empty() && !has_closed_ && std::ranges::none_of(connecting_, waits);
}

}  // namespace hr::transport::tcp
