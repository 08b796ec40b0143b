// Sending: messages that fit into a buffer.
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/ofi/endpoint.hpp"

namespace hr::transport::ofi {
namespace {

ssize_t start_send(Request& self) {
  auto& sending = static_cast<Sending&>(self);
  Buffer& buffer = *sending.whole;
  const std::size_t bytes = kFront + buffer.bytes;
  if (bytes <= sending.most_injected) {
    const ssize_t answer = ::fi_inject(sending.endpoint, &buffer.wire, bytes, self.line->address);
    return answer == 0 ? kAtOnce : answer;
  }
  return ::fi_send(sending.endpoint, &buffer.wire, bytes, sending.registration.descriptor, self.line->address,
                   &self.room);
}

}  // namespace

Buffer* Ofi::buffer(std::size_t bytes) {
  Buffer* const taken = buffers_.take(bytes);
  if (taken == nullptr) return nullptr;
  Sending& own = taken->own;
  if (own.endpoint == nullptr) {
    own.endpoint = fabric_.endpoint();
    own.start = start_send;
    own.whole = taken;
    if (fabric_.registers_local() &&
        !fabric_.add(&taken->wire, kFront + taken->room, FI_SEND, &own.registration).ok()) {
      static_cast<void>(take_detail());
      own.endpoint = nullptr;
      buffers_.give_back(taken);
      return nullptr;
    }
  }
  taken->bytes = bytes;
  return taken;
}

std::byte* Ofi::reserve(int proc, std::size_t bytes) {
  Peer& to = peer(proc);
  if (bytes > kMaxPayload || !has_room(to)) return nullptr;
  return reserve_in(to, bytes, buffers_, [this](std::size_t most) { return buffer(most); });
}

void Ofi::commit(int proc, const Header& header) {
  Peer& to = peer(proc);
  Buffer* const buffer = std::exchange(to.reserved, nullptr);
  buffer->wire.head = {to.sent++, to.own_name, to.secret, header};
  post(to, buffer, Front::kMessage);
}

Status Ofi::send(int proc, const Header& header, const void* payload, std::size_t bytes) {
  Peer& to = peer(proc);
  const std::size_t whole = kFront + bytes;
  if (whole <= to.at_once) {
    if (!to.is_due() || !has_room(to)) return no_room(to);
    std::byte message[kMostOnStack];
    const Front front = Front::kMessage;
    const Head head{to.sent, to.own_name, to.secret, header};
    std::memcpy(message, &front, sizeof front);
    std::memcpy(message + sizeof front, &head, sizeof head);
    if (bytes != 0) std::memcpy(message + kFront, payload, bytes);
    const ssize_t answer = ::fi_inject(fabric_.endpoint(), message, whole, to.address);
    if (answer == 0) [[likely]] {
      to.accepted();
      ++to.sent;
      return kOk;
    }
    answer == -FI_EAGAIN ? to.refused() : fail_path(to, static_cast<int>(-answer));
    return Status::again();
  }
  std::byte* const slot = reserve(proc, bytes);
  if (slot == nullptr) return no_room(to);
  if (bytes != 0) std::memcpy(slot, payload, bytes);
  commit(proc, header);
  return kOk;
}

void Ofi::post(Peer& peer, Buffer* buffer, Front front, bool must_report) {
  buffer->wire.front = static_cast<std::uint64_t>(front);
  buffer->own.line = &peer;
  buffer->own.is_greeting = front == Front::kAsk;
  buffer->own.most_injected = must_report ? 0 : fabric_.info().tx_attr->inject_size;
  if (buffer->own.done == nullptr) buffer->own.done = sent;
  requests_.begin(buffer->own);
}

void Ofi::post_word(Peer& peer, Front front, std::uint32_t sequence, std::uint64_t word, void (*done)(Request&, int),
                    bool must_report) {
  Buffer* const made = buffer(0);
  if (made == nullptr) return;  // a process without memory for so short a message is about to end
  made->wire.head = {sequence, peer.own_name, peer.secret, Header{{word, 0, 0}}};
  made->own.done = done;
  post(peer, made, front, must_report);
}

void Ofi::sent(Request& request, int error) {
  Buffer& buffer = *static_cast<Sending&>(request).whole;
  auto& to = static_cast<Peer&>(*request.line);
  request.done = nullptr;
  to.owner.buffers_.give_back(&buffer);
  if (error != 0) to.owner.fail_path(to, error);
}

}  // namespace hr::transport::ofi
