// Sending: frames go to the system at once while it accepts them; the rest is queued.
#include <netinet/in.h>
#include <netinet/tcp.h>
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

constexpr std::size_t kMostParts = 64;  // pieces that are sent in one system call
// Number of messages that a process sends, without making progress, before the system may collect further ones.
constexpr int kBurst = 4;

// Returns the number of bytes that the system has accepted; -1 for errors other than a lack of room. `flags`: MSG_MORE,
// if the system may wait for more before it sends the bytes, or 0.
ssize_t send_parts(int socket, std::span<iovec> parts, int flags) noexcept {
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  for (;;) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | flags);
    if (sent >= 0) return sent;
    if (errno == EAGAIN) return 0;
    if (errno != EINTR) return -1;
  }
}

}  // namespace

bool Tcp::post(Peer& peer, const FrameHead& head, const void* payload, std::size_t bytes) {
  const std::size_t whole = sizeof head + bytes;
  const bool is_message = head.kind == Frame::kMessage || head.kind == Frame::kReadyToSend;
  std::size_t sent = 0;
  if (peer.queue.empty() && peer.is_open()) [[likely]] {
    iovec parts[] = {{const_cast<FrameHead*>(&head), sizeof head}, {const_cast<void*>(payload), bytes}};
    const bool collect = ++burst_ > kBurst && whole <= peer.out->most_collected;
    const ssize_t accepted = send_parts(peer.out->socket, std::span(parts, bytes != 0 ? 2 : 1), collect ? MSG_MORE : 0);
    if (collect && !peer.collects) {
      peer.collects = true;
      collecting_.push_back(&peer);
    }
    if (accepted == static_cast<ssize_t>(whole)) [[likely]]
      return true;
    if (accepted < 0) {
      fail_path(peer, errno);
      return true;
    }
    if (accepted == 0 && is_message) {
      peer.is_full = true;
      watch(*peer.out, true);
      return false;
    }
    sent = static_cast<std::size_t>(accepted);
  }
  Buffer* const buffer = buffers_.take(bytes);
  if (buffer == nullptr) {
    if (sent != 0) fail_path(peer, ENOMEM);  // the peer waits for the rest of this frame
    return sent != 0;
  }
  std::memcpy(frame_of(*buffer), &head, sizeof head);
  if (bytes != 0) std::memcpy(buffer->payload(), payload, bytes);
  enqueue(peer, {frame_of(*buffer) + sent, whole - sent, buffer, nullptr, is_message});
  return true;
}

void Tcp::post_word(Peer& peer, Frame kind, std::uint64_t first, std::uint64_t second) {
  // Ignores failure: if there is no memory even for one control frame, the program is about to end.
  static_cast<void>(post(peer, {kind, 0, {first, second, 0}}, nullptr, 0));
}

void Tcp::enqueue(Peer& peer, const Piece& piece) {
  peer.queue.push_back(piece);
  peer.queued += piece.bytes;
  peer.holds_message = peer.holds_message || piece.is_message;
  if (peer.is_open()) watch(*peer.out, true);
}

Status Tcp::send(int proc, const Header& header, const void* payload, std::size_t bytes) {
  Peer& to = peer(proc);
  if (!has_room(to)) [[unlikely]]
    return no_room(to);
  return post(to, head_of(Frame::kMessage, header, bytes), payload, bytes) ? kOk : Status::again();
}

std::byte* Tcp::reserve(int proc, std::size_t bytes) {
  Peer& to = peer(proc);
  if (bytes > most_bytes(Frame::kMessage) || !has_room(to)) return nullptr;
  return reserve_in(to, bytes, buffers_, [this](std::size_t most) { return buffers_.take(most); });
}

void Tcp::commit(int proc, const Header& header) {
  Peer& to = peer(proc);
  Buffer* const buffer = std::exchange(to.reserved, nullptr);
  const FrameHead head = head_of(Frame::kMessage, header, buffer->bytes);
  std::memcpy(frame_of(*buffer), &head, sizeof head);
  const bool first = to.queue.empty();
  enqueue(to, {frame_of(*buffer), sizeof head + buffer->bytes, buffer, nullptr, true});
  if (first && to.is_open()) flush(to);
}

// Queues the next part of each source in turn, while little is queued, so that short messages overtake long ones.
void Tcp::feed(Peer& peer) {
  while (!peer.streams.empty() && peer.queued < kChunk) {
    Buffer* const head = buffers_.take(0);
    if (head == nullptr) return fail_path(peer, ENOMEM);
    Source& source = *peer.streams.front();
    peer.streams.pop_front();
    const std::size_t bytes = std::min(source.wanted - source.next, kChunk);
    const FrameHead words{Frame::kData, static_cast<std::uint32_t>(bytes), {source.number, source.next, 0}};
    std::memcpy(frame_of(*head), &words, sizeof words);
    peer.queue.push_back({frame_of(*head), sizeof words, head});
    peer.queue.push_back({source.data + source.next, bytes, nullptr, &source});
    peer.queued += sizeof words + bytes;
    source.next += bytes;
    if (source.next < source.wanted) peer.streams.push_back(&source);
  }
}

// Sends what is queued, as far as the system accepts it.
void Tcp::flush(Peer& peer) {
  peer.is_full = false;
  while (peer.is_open() && peer.failure == 0) {
    feed(peer);
    if (peer.queue.empty()) return watch(*peer.out, false);
    std::array<iovec, kMostParts> parts;
    const std::size_t count = std::min(peer.queue.size(), kMostParts);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      parts[i] = {const_cast<std::byte*>(peer.queue[i].data), peer.queue[i].bytes};
      bytes += peer.queue[i].bytes;
    }
    const ssize_t accepted = send_parts(peer.out->socket, std::span(parts).first(count), 0);
    if (accepted < 0) return fail_path(peer, errno);
    consume(peer, static_cast<std::size_t>(accepted));
    if (static_cast<std::size_t>(accepted) < bytes) {
      if (peer.is_open()) watch(*peer.out, true);
      return;
    }
  }
}

// The end of a source may start new operations, which queue more.
void Tcp::consume(Peer& peer, std::size_t bytes) {
  peer.queued -= bytes;
  while (bytes != 0) {
    Piece& first = peer.queue.front();
    const std::size_t part = std::min(bytes, first.bytes);
    bytes -= part;
    first.data += part;
    first.bytes -= part;
    Source* const source = first.source;
    if (source != nullptr) source->written += part;
    if (first.bytes != 0) return;
    if (first.buffer != nullptr) buffers_.give_back(first.buffer);
    if (first.is_message) peer.holds_message = false;
    peer.queue.pop_front();
    if (source != nullptr && source->written == source->wanted) end_source(source->number, kOk);
  }
}

// Lets the system send what it has collected, which it otherwise does after 0.2 s.
void Tcp::push() {
  burst_ = 0;
  for (Peer* const each : std::exchange(collecting_, {})) {
    each->collects = false;
    const int on = 1;
    // Sends what is waiting, although the option is on already.
    if (each->is_open()) static_cast<void>(::setsockopt(each->out->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  }
}

void Tcp::watch(Connection& connection, bool room) {
  if (connection.watches_room == room) return;
  connection.watches_room = room;
  epoll_event event{
      .events = room ? static_cast<std::uint32_t>(EPOLLIN | EPOLLOUT) : static_cast<std::uint32_t>(EPOLLIN),
      .data = {.ptr = &connection}};
  static_cast<void>(::epoll_ctl(events_, EPOLL_CTL_MOD, connection.socket, &event));
}

}  // namespace hr::transport::tcp
