#include "transport/network/inbox.hpp"

#include <cstring>
#include <utility>

#include "base/dropped.hpp"
#include "transport/network/buffers.hpp"

namespace hr::transport::network {
namespace {

// Returns the fault of a message of this length; null if there is none.
const char* fault_of(const std::byte* message, std::size_t bytes, bool is_rts) noexcept {
  if (is_rts) {
    const bool fits = message != nullptr && bytes >= sizeof(Head) && bytes - sizeof(Head) <= kMostRtsPayload;
    return fits ? nullptr : "the head of a ready-to-send message is too short or too long";
  }
  const bool fits = bytes >= sizeof(Head) && bytes - sizeof(Head) <= kMostEager + kMostInFront;
  return fits ? nullptr : "it is shorter than its head, or longer than any message";
}

}  // namespace

bool Inbox::take(const std::byte* message, std::size_t bytes, std::uint64_t token) {
  const bool is_rts = token != 0;
  if (const char* const fault = fault_of(message, bytes, is_rts); fault != nullptr) [[unlikely]] {
    drop_message(-1, fault);
    return false;
  }
  Head head;
  std::memcpy(&head, message, sizeof head);
  const int from = names_.proc_of(head.from, head.secret);
  if (from < 0) [[unlikely]] {
    drop_message(-1, kUnknownSender);  // or it has been disconnected
    return false;
  }
  const std::byte* payload = message + sizeof head;
  std::size_t payload_bytes = bytes - sizeof head;
  std::byte with_token[kMostRtsPayload + sizeof(RendezvousData)];
  if (is_rts) {
    const RendezvousData kept{token};
    std::memcpy(with_token, payload, payload_bytes);
    std::memcpy(with_token + payload_bytes, &kept, sizeof kept);
    payload_bytes += sizeof kept;
    payload = with_token;
  }
  const auto deliver = [&](const Head& its, const std::byte* data, std::size_t length) {
    handlers_.of_kind[kind_of(its.header)](from, its.header, data, length);
  };
  if (order_of(from).pass(head.sequence)) [[likely]] {
    if (is_rts) rendezvous_.insert(token);
    deliver(head, payload, payload_bytes);
    order_of(from).drain([&](const Early& early) {
      Head its;
      std::memcpy(&its, early.bytes.data(), sizeof its);
      buffered_.give_back(early.bytes.size());
      deliver(its, early.bytes.data() + sizeof its, early.bytes.size() - sizeof its);
    });
    return true;
  }
  std::vector<std::byte> copy(sizeof head + payload_bytes);
  std::memcpy(copy.data(), &head, sizeof head);
  if (payload_bytes != 0) std::memcpy(copy.data() + sizeof head, payload, payload_bytes);
  if (!order_of(from).keep(head.sequence, {std::move(copy)})) {
    drop_message(from, "its number has come before, or is too far ahead");
    return false;
  }
  buffered_.take(sizeof head + payload_bytes);
  if (is_rts) rendezvous_.insert(token);
  return true;
}

}  // namespace hr::transport::network
