#include "p2p/match/matching.hpp"

#include <bit>

namespace hr::p2p {
namespace {

bool has_wildcard(const Envelope& wanted) { return wanted.source == abi::kAnySource || wanted.tag == abi::kAnyTag; }

Envelope wanted_of(const Request& receive) { return {receive.context_, receive.source_, receive.tag_}; }

}  // namespace

template <class Accounts>
MatcherWith<Accounts>::~MatcherWith() {
  while (Unexpected* message = unexpected_.front()) {
    take(*message);
    Accounts::destroy(message);
  }
}

template <class Accounts>
void MatcherWith<Accounts>::post_in_bins(Request& receive) {
  if (has_wildcard(wanted_of(receive))) return posted_.push_back(receive);
  posted_bins_.bucket(receive.source_, receive.tag_).push_back(receive);
  if (posted_count_ > 4 * posted_bins_.size()) bin_posted();
}

template <class Accounts>
void MatcherWith<Accounts>::bin_posted() {
  // Collects the receives without wildcards in posting order, then distributes them again; those with a wildcard stay
  // in the list.
  std::vector<Request*> exact;
  if (posted_bins_.active()) {
    posted_bins_.for_each([&](Request& receive) { exact.push_back(&receive); });
  } else {
    for (Request* receive = posted_.front(); receive != nullptr; receive = posted_.next(*receive)) {
      if (!has_wildcard(wanted_of(*receive))) exact.push_back(receive);
    }
  }
  for (Request* receive : exact) receive->link_.unlink();
  posted_bins_.reset(static_cast<unsigned>(std::bit_width(posted_count_)) + 1);
  for (Request* receive : exact) posted_bins_.bucket(receive->source_, receive->tag_).push_back(*receive);
}

template <class Accounts>
Request* MatcherWith<Accounts>::search_posted(const Envelope& message) noexcept {
  Request* oldest = nullptr;
  std::size_t passed = 0;
  for (Request* receive = posted_.front(); receive != nullptr; receive = posted_.next(*receive)) {
    if (takes(*receive, message)) {
      oldest = receive;
      break;
    }
    ++passed;
  }
  if (posted_bins_.active()) {
    auto& bucket = posted_bins_.bucket(message.source, message.tag);
    for (Request* receive = bucket.front(); receive != nullptr; receive = bucket.next(*receive)) {
      if (!takes(*receive, message)) continue;
      if (oldest == nullptr || receive->sequence_ < oldest->sequence_) oldest = receive;
      break;
    }
  } else if (passed > kListLimit) {
    bin_posted();
  }
  if (oldest != nullptr) withdraw(*oldest);
  return oldest;
}

template <class Accounts>
void MatcherWith<Accounts>::keep(Unexpected* message) {
  accounts_.keep(*message);
  ++look_;
  unexpected_.push_back(*message);
  if (!unexpected_bins_.active()) return;
  if (unexpected_count() > 4 * unexpected_bins_.size()) {
    bin_unexpected();
  } else {
    unexpected_bins_.bucket(message->envelope.source, message->envelope.tag).push_back(*message);
  }
}

template <class Accounts>
void MatcherWith<Accounts>::bin_unexpected() {
  for (Unexpected* message = unexpected_.front(); message != nullptr; message = unexpected_.next(*message)) {
    if (message->bin_link.linked()) message->bin_link.unlink();
  }
  unexpected_bins_.reset(static_cast<unsigned>(std::bit_width(unexpected_count())) + 1);
  for (Unexpected* message = unexpected_.front(); message != nullptr; message = unexpected_.next(*message)) {
    unexpected_bins_.bucket(message->envelope.source, message->envelope.tag).push_back(*message);
  }
}

template <class Accounts>
Unexpected* MatcherWith<Accounts>::find(const Envelope& wanted) noexcept {
  if (unexpected_bins_.active() && !has_wildcard(wanted)) {
    auto& bucket = unexpected_bins_.bucket(wanted.source, wanted.tag);
    for (Unexpected* message = bucket.front(); message != nullptr; message = bucket.next(*message)) {
      if (accepts(wanted, message->envelope)) return message;
    }
    return nullptr;
  }
  Unexpected* found = unexpected_.front();
  std::size_t passed = 0;
  for (; found != nullptr && !accepts(wanted, found->envelope); found = unexpected_.next(*found)) ++passed;
  if (passed > kListLimit && !unexpected_bins_.active()) bin_unexpected();
  return found;
}

template <class Accounts>
Unexpected* MatcherWith<Accounts>::find_sent(int from_proc, std::uint64_t sender_cookie) noexcept {
  for (Unexpected* message = unexpected_.front(); message != nullptr; message = unexpected_.next(*message)) {
    const bool answered = message->rendezvous || message->wants_ack;
    if (answered && message->from_proc == from_proc && message->sender_cookie == sender_cookie) return message;
  }
  return nullptr;
}

template <class Accounts>
void MatcherWith<Accounts>::take(Unexpected& message) noexcept {
  accounts_.take(message);
  message.order_link.unlink();
  if (message.bin_link.linked()) message.bin_link.unlink();
  --look_;
}

Unexpected* Unexpected::create_apart(std::size_t payload_bytes) {
  const std::size_t bytes = sizeof(Unexpected) + payload_bytes;
  auto* message = ::new (::operator new(bytes)) Unexpected;
  message->payload = reinterpret_cast<std::byte*>(message + 1);
  message->allocated = bytes;
  return message;
}

void Unexpected::destroy_apart(Unexpected* message) noexcept {
  message->~Unexpected();
  ::operator delete(message);
}

template class MatcherWith<ProcessAccounts>;
template class MatcherWith<ApartAccounts>;

}  // namespace hr::p2p
