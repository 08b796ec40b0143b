#include "p2p/protocol/device_get.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/knobs.hpp"
#include "mem/device/fence.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/progress.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p {

extern const Rendezvous kDeviceGet;

namespace device_get {
namespace {

using layout::device::PeerCopy;
using layout::device::PeerView;

// Identifies a message by its sender and the cookie in its ready-to-send message.
struct MessageName {
  int proc;
  std::uint64_t cookie;
  bool operator==(const MessageName&) const = default;
};

// A receive whose data this process fetches.
struct Get {
  Request* receive;
  MessageName message;
  PeerCopy copy;
  bool waits;  // true if the copy has not started because the sender's data is not final
};

// A send whose ready-to-send message was sent before its data was final.
struct Pending final : Transfer {
  Pending() noexcept : Transfer(kDeviceGet) {}
  mem::device::Fence fence;
};
// A send whose receiver waits for the data to become final.
struct Unready {
  int proc;  // the receiver
  Request* send;
};

struct State final : FileState {
  std::vector<std::unique_ptr<Get>> gets;
  std::vector<std::unique_ptr<Get>> free_gets;
  std::vector<Unready> unready;
  PolledWait polled;
};
State& state() { return own<State>(); }
bool advance(void*);

// Returns the fence of the data; null if the data is final.
Pending* pending(const Request& send) noexcept {
  Transfer* const transfer = send.transfer_.get();
  return transfer != nullptr && transfer->is_of(kDeviceGet) ? static_cast<Pending*>(transfer) : nullptr;
}

void watch() {
  add_hook(&advance, nullptr);
  state().polled.hold(!state().gets.empty() || !state().unready.empty());
}

void end(Get& get, Status status) {
  send_control(get.message.proc, wire::answer(wire::Kind::kDone, get.message.cookie));
  finish_rendezvous(*get.receive, status);
}

// True if a copy has ended. Polls the latest copy first: if it is complete, the driver need not be queried about
// earlier ones on its stream (WorkEvent).
bool poll_gets() {
  bool moved = false;
  for (std::size_t i = state().gets.size(); i-- > 0;) {
    Get& get = *state().gets[i];
    bool done = false;
    const Status status = get.waits ? kOk : get.copy.poll(&done);
    if (!done) continue;
    moved = true;
    std::unique_ptr<Get> ended = std::move(state().gets[i]);
    state().gets.erase(state().gets.begin() + static_cast<std::ptrdiff_t>(i));
    end(*ended, status);
    state().free_gets.push_back(std::move(ended));
  }
  return moved;
}

bool poll_unready() {
  return std::erase_if(state().unready, [](const Unready& each) {
           const auto cookie = reinterpret_cast<std::uint64_t>(each.send);
           if (waiting_send(each.proc, cookie) == nullptr) return true;  // sent with another protocol, or ended
           if (Pending* const waits = pending(*each.send); waits != nullptr && !waits->fence.passed()) return false;
           if (pending(*each.send) != nullptr) each.send->transfer_.reset();
           send_control(each.proc, wire::answer(wire::Kind::kReady, cookie));
           return true;
         }) != 0;
}

bool advance(void*) {
  bool moved = false;
  if (!state().gets.empty()) moved |= poll_gets();
  if (!state().unready.empty()) moved |= poll_unready();
  const bool any = !state().gets.empty() || !state().unready.empty();
  state().polled.hold(any);
  if (!any) remove_hook(&advance, nullptr);
  return moved;
}

// No latency: the data moves without a further message.
Estimate probe(const MessageClass& message, const transport::Caps& /*caps*/) {
  if ((message.flags & wire::kView) == 0 || message.bytes == 0) return kNotApplicable;
  if (knobs().device_ipc == DeviceIpcChoice::kOff) return kNotApplicable;
  const auto bytes = static_cast<double>(message.bytes);
  if (message.to_host()) {
    const bool direct = message.to_pinned && message.to_contiguous && message.from_contiguous;
    return direct ? Estimate{mem::device::costs().copy_seconds + bytes / mem::device::costs().pinned_bytes_per_second}
                  : kNotApplicable;
  }
  // Within a device, the multiprocessors make the copy, so a time-sliced device must first switch to this process.
  return message.time_sliced
             ? Estimate{mem::device::costs().switch_seconds + bytes / mem::device::costs().device_bytes_per_second}
             : Estimate{mem::device::costs().copy_seconds + bytes / mem::device::costs().peer_bytes_per_second};
}

std::unique_ptr<Get> take_get() {
  if (state().free_gets.empty()) return std::make_unique<Get>();
  std::unique_ptr<Get> get = std::move(state().free_gets.back());
  state().free_gets.pop_back();
  return get;
}

Status begin(const ReadyToSend& rts, Request& receive) {
  PeerView from;
  std::memcpy(static_cast<void*>(&from), rts.tail, rts.tail_bytes);
  std::unique_ptr<Get> get = take_get();
  get->receive = &receive;
  get->message = {rts.from_proc, rts.sender_cookie};
  get->waits = (rts.flags & wire::kPending) != 0;
  if (get->waits) {
    HR_TRY(get->copy.prepare(from, rts.from_proc, receive.view_));
    send_control(rts.from_proc, wire::answer(wire::Kind::kAsk, rts.sender_cookie));
  } else {
    HR_TRY(get->copy.fetch(from, rts.from_proc, receive.view_, receive.total_));
  }
  state().gets.push_back(std::move(get));
  watch();
  return kOk;
}

// Handles kAsk from the receiver of a send of this process.
void arrive_ask(int from_proc, Request& send) {
  state().unready.push_back({from_proc, &send});
  watch();
}

void arrive_ready(int from_proc, std::uint64_t sender_cookie) {
  const MessageName message{from_proc, sender_cookie};
  const auto found = std::find_if(state().gets.begin(), state().gets.end(),
                                  [&](const auto& get) { return get->waits && get->message == message; });
  if (found == state().gets.end()) return;  // the get has failed meanwhile
  Get& get = **found;
  get.waits = false;
  const Status status = get.copy.start(get.receive->view_, get.receive->total_);
  if (status.ok()) return;
  const std::unique_ptr<Get> ended = std::move(*found);
  state().gets.erase(found);
  end(*ended, status);
}

void fail_pending(int proc) {
  std::erase_if(state().gets, [proc](const auto& get) { return get->waits && get->message.proc == proc; });
  std::erase_if(state().unready, [proc](const Unready& each) { return each.proc == proc; });
}

bool holds(const Request& request) noexcept {
  return std::any_of(state().gets.begin(), state().gets.end(),
                     [&](const auto& get) { return get->receive == &request; });
}

void finalize() {
  remove_hook(&advance, nullptr);
  state().gets.clear();
  state().free_gets.clear();
  state().unready.clear();
  state().polled.hold(false);
}

bool deliver_ask(int from, Request& send, const transport::Header&, const std::byte*, std::size_t) {
  arrive_ask(from, send);
  return true;
}
void deliver_ready(int from, const transport::Header& header, const std::byte*, std::size_t) {
  arrive_ready(from, header.words[2]);
}
constexpr Arrival kArrivals[] = {arrival_at_send<deliver_ask>(wire::Kind::kAsk),
                                 arrival<deliver_ready>(wire::Kind::kReady)};

}  // namespace

bool serves(const Peer& peer, const layout::View& data) noexcept {
  return mem::device::exports_to(peer.proc, data.where) && data.packed != 0 && peer.caps.same_node &&
         knobs().device_ipc != DeviceIpcChoice::kOff;
}

Status describe(const Peer& peer, Request& send, std::uint64_t* flags, PeerView* view) {
  const Status described = layout::device::describe_view(send.view_, peer.proc, view);
  if (described.errc() == Errc::kUnsupportedOperation) return kOk;
  HR_TRY(described);
  *flags |= wire::kView;
  if (pending(send) == nullptr && !mem::device::Fence::needless(send.view_.where)) {
    auto made = std::make_unique<Pending>();
    HR_TRY(made->fence.set(send.view_.where));
    send.transfer_ = std::move(made);
  }
  Pending* const waits = pending(send);
  if (waits == nullptr) return kOk;
  if (waits->fence.passed()) {
    send.transfer_.reset();
  } else {
    *flags |= wire::kPending;
  }
  return kOk;
}

}  // namespace device_get

const Rendezvous kDeviceGet{.name = "device_get",
                            .probe = device_get::probe,
                            .begin = device_get::begin,
                            .arrivals = device_get::kArrivals,
                            .fail_pending = device_get::fail_pending,
                            .holds = device_get::holds,
                            .finalize = device_get::finalize};

}  // namespace hr::p2p
