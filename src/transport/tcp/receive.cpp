// Receiving, and rounds of progress.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/dropped.hpp"
#include "transport/tcp/endpoint.hpp"

namespace hr::transport::tcp {
namespace {

// System calls for one connection in a round, so that none keeps the others waiting.
constexpr int kReadsAtOnce = 8;

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
    } else {
      any |= serve(*static_cast<Connection*>(event.data.ptr), event.events);
    }
  }
  if (!unwatched_.empty()) [[unlikely]]
    watch_some();
  if (count <= 0 || !connecting_.empty() || !unproven_.empty()) tick();
  if (!broken_.empty()) [[unlikely]]
    end_broken();
  if (!failed_.empty()) [[unlikely]]
    failed_.tell(handlers_, [this](const Peer& peer) { return why_failed(peer); });
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
      // It sends nothing before it is welcomed, so this is its end.
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

// Receives into the place where the next bytes belong, if that is known: the rest of a frame, or of data; everything
// that follows goes to the scratch memory. The beginning of a frame stays there as long as the rest arrives at once.
bool Tcp::read(Connection& connection) {
  bool any = false;
  std::size_t begin = 0;  // of the bytes in the scratch memory that are not parsed yet
  std::size_t end = 0;
  for (int left = kReadsAtOnce; left != 0 && end < scratch_.size() && connection.stage == Stage::kOpen; --left) {
    std::array<iovec, 2> parts{};
    if (connection.left != 0 && connection.fetch->into->unpack == nullptr) {
      parts[0] = {connection.fetch->into->address + connection.offset, connection.left};
    } else if (connection.wanted != 0) {
      parts[0] = {connection.partial() + connection.filled, connection.wanted - connection.filled};
    }
    const std::size_t placed = parts[0].iov_len;
    const std::size_t room = scratch_.size() - end;
    parts[1] = {scratch_.data() + end, room};
    msghdr message{};
    message.msg_iov = placed != 0 ? parts.data() : &parts[1];
    message.msg_iovlen = placed != 0 ? 2 : 1;
    const ssize_t got = ::recvmsg(connection.socket, &message, 0);
    if (got <= 0) {
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) ended(connection, got == 0 ? ECONNRESET : errno);
      break;
    }
    any = true;
    const auto bytes = static_cast<std::size_t>(got);
    const std::size_t here = std::min(bytes, placed);
    if (here != 0) arrived(connection, here);
    end += bytes - here;
    begin += parse(connection, scratch_.data() + begin, end - begin);
    if (begin == end) {
      if (bytes < placed + room) break;  // nothing more has arrived
      begin = end = 0;
    }
  }
  if (begin != end && connection.stage == Stage::kOpen) keep(connection, scratch_.data() + begin, end - begin);
  return any;
}

// These bytes were received where they belong.
void Tcp::arrived(Connection& connection, std::size_t bytes) {
  if (connection.left != 0) return take_data(connection, nullptr, bytes);
  connection.filled += bytes;
  if (connection.filled == connection.wanted) completed(connection);
}

// Prepares for the rest of a frame, of which the head has arrived. False if the path fails.
bool Tcp::expect(Connection& connection, const FrameHead& head) {
  connection.frame = buffers_.take(head.bytes);
  if (connection.frame == nullptr) {
    fail_path(*connection.peer, ENOMEM);
    close(connection);
    return false;
  }
  std::memcpy(frame_of(*connection.frame), &head, sizeof head);
  connection.filled = sizeof head;
  connection.wanted = sizeof head + head.bytes;
  return true;
}

// A head has arrived in pieces, or a whole frame.
void Tcp::completed(Connection& connection) {
  FrameHead head;
  std::memcpy(&head, connection.partial(), sizeof head);
  if (connection.frame == nullptr) {
    if (!is_valid(head)) return malformed(*connection.peer);
    if (head.kind != Frame::kData && head.bytes != 0) {
      static_cast<void>(expect(connection, head));
      return;
    }
  }
  Buffer* const frame = std::exchange(connection.frame, nullptr);
  connection.wanted = connection.filled = 0;
  if (head.kind == Frame::kData) return begin_data(connection, head);
  deliver(connection, head, frame != nullptr ? frame->payload() : nullptr);
  if (frame != nullptr) buffers_.give_back(frame);
}

// `data`: the bytes that follow those which have been parsed already. Returns the number of bytes parsed: all but an
// incomplete frame at the end.
std::size_t Tcp::parse(Connection& connection, const std::byte* data, std::size_t bytes) {
  std::size_t at = 0;
  while (at < bytes && connection.stage == Stage::kOpen) {
    if (connection.left != 0) {
      const std::size_t part = std::min(bytes - at, connection.left);
      take_data(connection, data + at, part);
      at += part;
      continue;
    }
    if (connection.wanted != 0) {
      const std::size_t part = std::min(bytes - at, connection.wanted - connection.filled);
      std::memcpy(connection.partial() + connection.filled, data + at, part);
      arrived(connection, part);
      at += part;
      continue;
    }
    FrameHead head;
    if (bytes - at < sizeof head) break;
    std::memcpy(&head, data + at, sizeof head);
    if (!is_valid(head)) {
      malformed(*connection.peer);
      break;
    }
    if (head.kind == Frame::kData) {
      at += sizeof head;
      begin_data(connection, head);
      continue;
    }
    if (bytes - at < sizeof head + head.bytes) break;
    deliver(connection, head, data + at + sizeof head);
    at += sizeof head + head.bytes;
  }
  return at;
}

// Moves an incomplete frame out of the scratch memory.
void Tcp::keep(Connection& connection, const std::byte* data, std::size_t bytes) {
  FrameHead head;
  if (bytes < sizeof head) {
    connection.wanted = sizeof head;
  } else {
    std::memcpy(&head, data, sizeof head);
    if (!expect(connection, head)) return;
  }
  std::memcpy(connection.partial(), data, bytes);
  connection.filled = bytes;
}

void Tcp::deliver(Connection& connection, const FrameHead& head, const std::byte* payload) {
  Peer& from = *connection.peer;
  const Header header{{head.words[0], head.words[1], head.words[2]}};
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
        return drop_message(from.proc, "it declines the data of no pending rendezvous");
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
  const Header header{{head.words[0], head.words[1], head.words[2]}};
  handlers_.of_kind[kind_of(header)](peer.proc, header, with_token, bytes + sizeof data);
}

void Tcp::begin_data(Connection& connection, const FrameHead& head) {
  Peer& from = *connection.peer;
  const auto found = from.fetches.find(head.words[0]);
  if (found == from.fetches.end()) return malformed(from);
  Fetch& fetch = found->second;
  const std::size_t bytes = fetch.into->bytes;
  // Its parts come in order, so none is written twice.
  if (head.words[1] != fetch.arrived || head.bytes > bytes - fetch.arrived) return malformed(from);
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

std::optional<std::uint32_t> Tcp::arm() {
  const auto bell = sleepers_.arm();
  if (!bell || arm_arrivals()) return bell;
  sleepers_.disarm(*bell);
  return std::nullopt;
}

// An event that has not been handled keeps the descriptor readable, so nothing needs to be armed.
bool Tcp::arm_arrivals() {
  const auto waits = [](const Peer* each) { return each->retry_at != 0; };
  return failed_.empty() && broken_.empty() && collecting_.empty() && unwatched_.empty() && !has_closed_ &&
         std::ranges::none_of(connecting_, waits);
}

}  // namespace hr::transport::tcp
