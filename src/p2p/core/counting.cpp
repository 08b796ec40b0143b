#include "p2p/counting.hpp"

#include "p2p/core/engine.hpp"

namespace hr::p2p {
namespace {

counters::Memory memory_of(const mem::Location& where) noexcept {
  if (where.managed || where.kind == mem::Kind::kManaged) return counters::Memory::kManaged;
  if (where.is_device()) return counters::Memory::kDevice;
  return where.pinned ? counters::Memory::kPinned : counters::Memory::kHost;
}

void add(counters::Amount* table, const mem::Location& where, std::size_t bytes) noexcept {
  const counters::Memory memory = memory_of(where);
  if (memory != counters::Memory::kHost) table[static_cast<std::size_t>(memory)].add(bytes);
}

}  // namespace

counters::Peer& row_of(const Peer& peer) noexcept {
  using counters::PeerClass;
  const PeerClass peer_class = peer.caps.same_address_space ? PeerClass::kSelf
                               : peer.caps.same_node        ? PeerClass::kHost
                                                            : PeerClass::kOtherHost;
  return counters::row_of(peer.proc, peer_class);
}

void count_send(const Peer& peer, const Request& send) noexcept {
  counters::count_sent(*peer.counted, !is_programs(send.context_), send.view_.packed);
  add(counters::page.memories, send.view_.where, send.view_.packed);
}

void count_to(const mem::Location& to, std::size_t bytes) noexcept { add(counters::page.to_memories, to, bytes); }

int waits_for(const Request* request) noexcept {
  if (request == nullptr || engine() == nullptr || request->state_ != nullptr) return -1;
  if (!request->is_receive_) return request->proc_;
  const int source = request->source_ < 0 && request->complete() ? request->completion_.source : request->source_;
  if (source < 0) return -1;
  const auto process_of = engine()->context_members.process_of;
  return process_of != nullptr ? process_of(request->context_, source) : source;
}

}  // namespace hr::p2p
