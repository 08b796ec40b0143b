// Network direct: moves a message from or to contiguous device memory in one transfer: the transport moves it from
// memory to memory (Transport::send_rts() with device memory). The network reads and writes device memory (GPUDirect),
// or UCX copies it with its own methods.
//
// Once the receiver has cleared the message, the sender sends the transport's ready-to-send message, and the receiver
// fetches the data into its buffer. Both sides first wait for the program's work on the default stream. No model
// predicts whether this is faster than pieces through pinned memory (network_staged.cpp), so it is measured at run time
// (autotune.hpp).
// Owner: the tables here, until everything in them is complete. Threads: library lock.
#include "p2p/protocol/network_direct.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/knobs.hpp"
#include "mem/device/context.hpp"
#include "mem/device/fence.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/progress.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p {
namespace network_direct {
namespace {

// True if the network can access the data. Managed memory migrates; pools and VMM allocations are accessible only if
// they were created for access by networks.
bool is_reached(const layout::View& data) noexcept {
  const bool forced = knobs().device_network_direct == DeviceNetworkDirectChoice::kOn;
  return data.contiguous && data.where.is_device() && !data.where.managed && (forced || data.where.context != nullptr);
}

// A send of device memory that the receiver has cleared.
struct Outgoing : transport::Operation {
  Request* send = nullptr;
  int proc = -1;
  mem::device::Fence fence;
  bool rts_sent = false;
};

// A receive whose clear-to-send waits until the work on its buffer is done.
struct Waiting {
  Request* receive;
  int from;
  std::uint64_t sender_cookie;
  mem::device::Fence fence;
};

// A receive whose data is ready to be fetched.
struct Incoming : transport::Operation {
  Request* receive = nullptr;
  int from = -1;
  transport::Sink sink;
};

struct State final : FileState {
  std::vector<std::unique_ptr<Outgoing>> outgoing;
  std::vector<Waiting> waiting;
  std::vector<std::unique_ptr<Incoming>> incoming;
  PolledWait polled;
};
State& state() { return own<State>(); }

bool advance(void*);

void watch() {
  add_hook(&advance, nullptr);
  state().polled.hold(true);
}

template <class Entry>
std::unique_ptr<Entry> take_out(std::vector<std::unique_ptr<Entry>>& table, const transport::Operation& entry) {
  const auto found = std::ranges::find_if(table, [&](const auto& each) { return each.get() == &entry; });
  std::unique_ptr<Entry> taken = std::move(*found);
  table.erase(found);
  return taken;
}

// --- sender ---

void end(Request& send, Status status) {
  Completion completion;
  completion.error = status;
  finish_send(send, completion);
}

// Ends the send. If an error on the path has not been reported yet, its report will end the send instead.
void sent(transport::Operation& self) {
  const std::unique_ptr<Outgoing> message = take_out(state().outgoing, self);
  if (message->status.ok()) {
    end(*message->send, kOk);
  } else if (has_failed(message->proc)) {
    end(*message->send, failure_error(message->proc));
  }
}

// Sends the RTS; false if the work on the data is not done, or the transport has no space.
bool send_rts(Outgoing& message) {
  if (!message.fence.passed()) return false;
  const Request& send = *message.send;
  const transport::Source data{send.view_.data(), send.total_, true};
  const Status status =
      peer_of(message.proc)
          .transport->send_rts(message.proc, wire::network_whole(send.peer_cookie_), nullptr, 0, data, &message);
  if (status.is_again()) return false;
  message.rts_sent = true;
  if (status.ok() && !message.complete) {
    message.then = sent;
    return true;
  }
  const std::unique_ptr<Outgoing> over = take_out(state().outgoing, message);
  if (!status.ok()) {
    std::string why = take_detail();
    abandon(over->proc, *over->send, 0, why);
    set_detail(std::move(why));
  }
  end(*over->send, status.ok() ? over->status : status);
  return true;
}

bool cleared(int to_proc, Request& send, const wire::Cts& cts, const std::byte* /*tail*/) {
  if ((cts.way & wire::kWhole) == 0 || !serves(peer_of(to_proc), send.view_)) return false;
  auto message = std::make_unique<Outgoing>();
  message->send = &send;
  message->proc = to_proc;
  if (!message->fence.set(send.view_.where).ok()) {
    static_cast<void>(take_detail());
    return false;  // the data is sent as a stream, which reports the error
  }
  state().outgoing.push_back(std::move(message));
  if (!send_rts(*state().outgoing.back())) watch();
  return true;
}

bool send_pending_rts() {
  bool moved = false;
  for (std::size_t i = 0; i < state().outgoing.size();) {
    Outgoing& message = *state().outgoing[i];
    const std::size_t before = state().outgoing.size();
    if (!message.rts_sent) moved |= send_rts(message);
    if (state().outgoing.size() == before) ++i;
  }
  return moved;
}

// --- receiver ---

void clear(Request& receive, int from, std::uint64_t sender_cookie) {
  const wire::Cts cts{reinterpret_cast<std::uint64_t>(&receive), receive.total_, wire::kWhole,
                      mem::device::Context::locality_of(receive.view_.where)};
  send_control(from, wire::answer(wire::Kind::kCts, sender_cookie), &cts, sizeof cts);
}

bool clear_some() {
  return std::erase_if(state().waiting, [](Waiting& each) {
           if (!each.fence.passed()) return false;
           clear(*each.receive, each.from, each.sender_cookie);
           return true;
         }) != 0;
}

void taken(transport::Operation& self) {
  const std::unique_ptr<Incoming> message = take_out(state().incoming, self);
  Request& receive = *message->receive;
  if (message->status.ok()) {
    account(receive, receive.total_, kOk);
  } else if (has_failed(message->from)) {
    finish_rendezvous(receive, failure_error(message->from));
  }  // otherwise the path is about to fail, which ends the receive
}

bool deliver_whole(int from, Request& receive, const transport::Header&, const std::byte* payload, std::size_t bytes) {
  transport::RendezvousData data;
  if (bytes != sizeof data) return false;
  std::memcpy(&data, payload, sizeof data);
  if (!receive.view_.contiguous || !has_rendezvous(from, data) || receive.offset_ != 0 || is_held(receive))
    return false;
  auto message = std::make_unique<Incoming>();
  message->receive = &receive;
  message->from = from;
  const layout::View& to = message->receive->view_;
  message->sink = {to.data(), message->receive->total_, to.where.is_device()};
  Incoming& kept = *state().incoming.emplace_back(std::move(message));
  const Status status = peer_of(from).transport->receive_rendezvous(from, data, &kept.sink, &kept);
  if (!status.ok()) {
    const std::unique_ptr<Incoming> over = take_out(state().incoming, kept);
    peer_of(from).transport->decline_rendezvous(from, data);
    finish_rendezvous(*over->receive, status);
    return true;
  }
  if (kept.complete) {
    taken(kept);
  } else {
    kept.then = taken;
  }
  return true;
}
constexpr Arrival kArrivals[] = {arrival_at_receive<deliver_whole>(wire::Kind::kNetworkWhole)};

Status begin(const ReadyToSend& rts, Request& receive) {
  if (receive.view_.where.is_device() && !is_reached(receive.view_))
    return fail(Errc::kUnsupportedOperation, "memory that the network may not reach");
  mem::device::Fence fence;
  if (receive.view_.where.is_device()) HR_TRY(fence.set(receive.view_.where));
  if (fence.passed()) {
    clear(receive, rts.from_proc, rts.sender_cookie);
  } else {
    state().waiting.push_back({&receive, rts.from_proc, rts.sender_cookie, fence});
    watch();
  }
  return kOk;
}

// --- both ---

bool advance(void*) {
  bool moved = clear_some();
  moved |= send_pending_rts();
  const bool polls = !state().waiting.empty() ||
                     std::ranges::any_of(state().outgoing, [](const auto& each) { return !each->rts_sent; });
  state().polled.hold(polls);
  if (!polls) remove_hook(&advance, nullptr);
  return moved;
}

// The estimate counts two messages: the clear-to-send, and the transport's ready-to-send message.
Estimate probe(const MessageClass& message, const transport::Caps& caps) {
  if (caps.same_node || !caps.device_rendezvous || message.bytes == 0) return kNotApplicable;
  if ((message.flags & wire::kDirect) == 0 || !message.to_contiguous || message.to == mem::Kind::kManaged)
    return kNotApplicable;
  if (knobs().device_network_direct == DeviceNetworkDirectChoice::kOn) return {0};
  return {2 * caps.latency_seconds + caps.messages().seconds(message.bytes), true};
}

void fail_pending(int proc) {
  std::erase_if(state().waiting, [proc](const Waiting& each) { return each.from == proc; });
  std::erase_if(state().outgoing, [proc](const auto& each) { return each->proc == proc && !each->rts_sent; });
}

bool holds(const Request& request) noexcept {
  return std::ranges::any_of(state().outgoing,
                             [&](const auto& each) { return each->send == &request && each->rts_sent; }) ||
         std::ranges::any_of(state().incoming, [&](const auto& each) { return each->receive == &request; }) ||
         std::ranges::any_of(state().waiting, [&](const Waiting& each) { return each.receive == &request; });
}

bool idle() noexcept { return state().outgoing.empty() && state().waiting.empty() && state().incoming.empty(); }

void finalize() {
  remove_hook(&advance, nullptr);
  state().polled.hold(false);
}

}  // namespace

bool serves(const Peer& peer, const layout::View& data) noexcept {
  return peer.caps.device_rendezvous && data.packed != 0 && is_reached(data);
}

}  // namespace network_direct

extern const Rendezvous kNetworkDirect;
const Rendezvous kNetworkDirect{.name = "network direct",
                                .probe = network_direct::probe,
                                .begin = network_direct::begin,
                                .arrivals = network_direct::kArrivals,
                                .cleared = network_direct::cleared,
                                .fail_pending = network_direct::fail_pending,
                                .holds = network_direct::holds,
                                .idle = network_direct::idle,
                                .finalize = network_direct::finalize};

}  // namespace hr::p2p
