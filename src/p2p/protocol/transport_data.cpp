#include "p2p/protocol/transport_data.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>

#include "mem/device/fence.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/protocol/network_direct.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p {
namespace transport_data {
namespace {

// A send whose data the transport keeps; destroyed when the transport is done with it.
struct Sending : transport::Operation {
  Request* send = nullptr;  // null if the send has ended by other means
  bool in_doubt = false;    // a cancellation awaits its answer
  bool moved = false;       // the transport finished meanwhile
};

// A receive into whose buffer the transport writes.
struct Receiving : transport::Operation {
  Request* receive = nullptr;
  struct Unpack : transport::Sink {
    Receiving* receiving;
  } sink;
  Status unpacked = kOk;
};

struct State final : FileState {
  std::unordered_map<const Request*, Sending*> sends;
  std::unordered_map<const Request*, std::unique_ptr<Receiving>> receives;
};

void end_send(Request& send, Status status) {
  Completion completion;
  completion.error = status;
  complete(send, completion);
}

// Ends the send. If an error on the path has not been reported yet, its report will end the send instead.
void sent(transport::Operation& self) {
  std::unique_ptr<Sending> sending(static_cast<Sending*>(&self));
  Request* const send = sending->send;
  if (send == nullptr) return;
  if (sending->status.ok() && sending->in_doubt) {
    sending.release()->moved = true;
    return;
  }
  own<State>().sends.erase(send);
  if (sending->status.ok()) {
    end_send(*send, kOk);
  } else if (has_failed(send->proc_)) {
    end_send(*send, failure_error(send->proc_));
  }
}

void received_all(transport::Operation& self) {
  auto& receiving = static_cast<Receiving&>(self);
  Request* const receive = receiving.receive;
  if (receive == nullptr) return;
  const int from = receive->proc_;
  const Status status = receiving.status.ok() ? receiving.unpacked
                        : has_failed(from)    ? failure_error(from)
                                              : receiving.status;
  const bool later = !receiving.status.ok() && !has_failed(from);
  own<State>().receives.erase(receive);
  if (!later) finish_rendezvous(*receive, status);
}

// Unpacks a piece, except for data beyond the buffer.
void unpack(transport::Sink& self, std::size_t offset, const std::byte* data, std::size_t bytes) {
  Receiving& receiving = *static_cast<Receiving::Unpack&>(self).receiving;
  const Request& receive = *receiving.receive;
  if (offset >= receive.total_) return;
  const Status status = layout::unpack(receive.view_, offset, std::min(bytes, receive.total_ - offset), data);
  if (receiving.unpacked.ok()) receiving.unpacked = status;
}

transport::RendezvousData data_of(const std::byte* tail) noexcept {
  transport::RendezvousData data;
  std::memcpy(&data, tail, sizeof data);
  return data;
}

// True if the program has no pending work on the default stream; such work would have to be done first.
bool is_idle(const layout::View& data) {
  mem::device::Fence fence;
  if (fence.set(data.where).ok()) return fence.passed();
  static_cast<void>(take_detail());
  return false;
}

// Applies to any receive, because only the transport reports the end to the sender.
Estimate probe(const MessageClass& message, const transport::Caps& /*caps*/) {
  return (message.flags & wire::kKept) != 0 ? Estimate{-1} : kNotApplicable;
}

Status begin(const ReadyToSend& rts, Request& receive) {
  auto receiving = std::make_unique<Receiving>();
  receiving->receive = &receive;
  receiving->sink.receiving = receiving.get();
  receiving->sink.bytes = rts.bytes;
  const layout::View& to = receive.view_;
  const bool device = network_direct::serves(peer_of(rts.from_proc), to) && is_idle(to);
  if (receive.total_ == rts.bytes && (device || to.allows_memcpy())) {
    receiving->sink.address = to.data();
    receiving->sink.device = device;
  } else {
    receiving->sink.unpack = unpack;
  }
  transport::Transport& transport = *peer_of(rts.from_proc).transport;
  HR_TRY(transport.receive_rendezvous(rts.from_proc, data_of(rts.tail), &receiving->sink, receiving.get()));
  Receiving& kept = *own<State>().receives.emplace(&receive, std::move(receiving)).first->second;
  kept.then = received_all;
  if (kept.complete) received_all(kept);
  return kOk;
}

void deliver_not_cancelled(int from, const transport::Header& header, const std::byte*, std::size_t) {
  auto* const send = reinterpret_cast<Request*>(header.words[2]);  // may be any number until it is found in the table
  const auto found = own<State>().sends.find(send);
  if (found == own<State>().sends.end() || send->proc_ != from) return;
  found->second->in_doubt = false;
  if (!found->second->moved) return;
  detach(*send);
  end_send(*send, kOk);
}

constexpr Arrival kArrivals[] = {arrival<deliver_not_cancelled>(wire::Kind::kNotCancelled)};

// Called if the receiver could not receive the data, and will not request it again. Returns false because this protocol
// no longer needs the data, either.
bool released(Request& send) {
  detach(send);
  return false;
}

bool holds(const Request& request) {
  const State& state = own<State>();
  return state.sends.contains(&request) || state.receives.contains(&request);
}

void give_up() {
  State& state = own<State>();
  while (!state.sends.empty()) detach(*const_cast<Request*>(state.sends.begin()->first));
  for (auto& [request, receiving] : state.receives) receiving->receive = nullptr;
}

}  // namespace

Status send_rts(Peer& peer, Request& send, const transport::Header& header, wire::Rts rts, bool* done) {
  rts.flags |= wire::kKept;
  auto sending = std::make_unique<Sending>();
  HR_TRY(peer.transport->send_rts(peer.proc, header, &rts, sizeof rts, {send.view_.data(), send.view_.packed},
                                  sending.get()));
  *done = sending->complete;
  if (*done) return kOk;
  sending->send = &send;
  sending->then = sent;
  own<State>().sends.emplace(&send, sending.release());
  return kOk;
}

bool cancel(Request& send) {
  const auto found = own<State>().sends.find(&send);
  if (found == own<State>().sends.end()) return false;
  if (std::exchange(found->second->in_doubt, true)) return true;
  send_control(send.proc_, wire::cancel(send.context_, reinterpret_cast<std::uint64_t>(&send), true));
  return true;
}

void detach(Request& send) {
  State& state = own<State>();
  const auto found = state.sends.find(&send);
  if (found == state.sends.end()) return;
  found->second->send = nullptr;
  if (found->second->moved) delete found->second;
  state.sends.erase(found);
}

void drop(int from, const std::byte* payload, std::size_t bytes) {
  wire::Rts rts;
  std::memcpy(&rts, payload, sizeof rts);
  if ((rts.flags & wire::kKept) != 0)
    decline_rendezvous(from, data_of(payload + bytes - sizeof(transport::RendezvousData)));
}

}  // namespace transport_data

extern const Rendezvous kTransportData;
const Rendezvous kTransportData{.name = "transport",
                                .probe = transport_data::probe,
                                .begin = transport_data::begin,
                                .arrivals = transport_data::kArrivals,
                                .released = transport_data::released,
                                .holds = transport_data::holds,
                                .finalize = transport_data::give_up};

}  // namespace hr::p2p
