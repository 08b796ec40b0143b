#include "p2p/protocol/device_put.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "layout/device/peer_store.hpp"
#include "mem/device/context.hpp"
#include "mem/device/fence.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/progress.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p {
namespace device_put {
namespace {

using layout::device::PeerView;

struct Put {
  Request* send;
  int proc;
  layout::device::PeerStore store;
};

struct State final : FileState {
  std::vector<std::unique_ptr<Put>> puts;
  PolledWait polled;
};
State& state() { return own<State>(); }

void end(Put& put, Status status) {
  Completion completion;
  completion.error = status;
  if (status.ok()) {
    send_control(put.proc, wire::stored(put.send->peer_cookie_));
  } else {
    std::string why = take_detail();
    abandon(put.proc, *put.send, 0, why);
    set_detail(std::move(why));
  }
  finish_send(*put.send, completion);
}

bool advance(void*) {
  bool moved = false;
  for (std::size_t i = 0; i < state().puts.size();) {
    bool done = false;
    const Status status = state().puts[i]->store.poll(&done);
    if (!done) {
      ++i;
      continue;
    }
    moved = true;
    const std::unique_ptr<Put> ended = std::move(state().puts[i]);
    state().puts.erase(state().puts.begin() + static_cast<std::ptrdiff_t>(i));
    end(*ended, status);
  }
  state().polled.hold(!state().puts.empty());
  if (state().puts.empty()) remove_hook(&advance, nullptr);
  return moved;
}

// The estimate counts two messages: the clear-to-send, and the one that reports that the data has been stored.
Estimate probe(const MessageClass& message, const transport::Caps& caps) {
  if (knobs().device_ipc == DeviceIpcChoice::kOff || !caps.same_node || message.bytes == 0) return kNotApplicable;
  if ((message.flags & wire::kPinned) == 0 || !message.to_contiguous || !message.to_exportable) return kNotApplicable;
  return {2 * caps.latency_seconds + mem::device::costs().copy_seconds +
          static_cast<double>(message.bytes) / mem::device::costs().pinned_bytes_per_second};
}

Status begin(const ReadyToSend& rts, Request& receive) {
  mem::device::Fence fence;
  HR_TRY(fence.set(receive.view_.where));
  if (!fence.passed()) return fail(Errc::kUnsupportedOperation, "the receiver's default stream is busy");
  struct {
    wire::Cts cts;
    PeerView view;
  } answer{};
  HR_TRY(layout::device::describe_view(receive.view_, rts.from_proc, &answer.view));
  answer.cts = {reinterpret_cast<std::uint64_t>(&receive), receive.total_, wire::kPut, answer.view.locality};
  send_control(rts.from_proc, wire::answer(wire::Kind::kCts, rts.sender_cookie), &answer,
               sizeof answer.cts + PeerView::kContiguousBytes);
  return kOk;
}

bool cleared(int to_proc, Request& send, const wire::Cts& cts, const std::byte* view) {
  if ((cts.way & wire::kPut) == 0 || !serves(send.view_)) return false;
  PeerView to;
  std::memcpy(static_cast<void*>(&to), view, PeerView::kContiguousBytes);
  auto put = std::make_unique<Put>();
  put->send = &send;
  put->proc = to_proc;
  if (!put->store.start(send.view_, to, to_proc, send.total_).ok()) {
    static_cast<void>(take_detail());  // a refusal to map has been logged already
    return false;
  }
  state().puts.push_back(std::move(put));
  add_hook(&advance, nullptr);
  state().polled.hold(true);
  return true;
}

bool holds(const Request& request) noexcept {
  return std::any_of(state().puts.begin(), state().puts.end(), [&](const auto& put) { return put->send == &request; });
}

void finalize() {
  remove_hook(&advance, nullptr);
  state().puts.clear();
  state().polled.hold(false);
}

bool deliver_stored(int, Request& receive, const transport::Header&, const std::byte*, std::size_t) {
  if (receive.offset_ != 0 || is_held(receive)) return false;
  account(receive, receive.total_, kOk);
  return true;
}
constexpr Arrival kArrivals[] = {arrival_at_receive<deliver_stored>(wire::Kind::kStored)};

}  // namespace

bool serves(const layout::View& data) noexcept {
  return data.where.pinned && data.where.context != nullptr && data.contiguous &&
         knobs().device_ipc != DeviceIpcChoice::kOff;
}

}  // namespace device_put

extern const Rendezvous kDevicePut;
const Rendezvous kDevicePut{.name = "device_put",
                            .probe = device_put::probe,
                            .begin = device_put::begin,
                            .arrivals = device_put::kArrivals,
                            .cleared = device_put::cleared,
                            .holds = device_put::holds,
                            .finalize = device_put::finalize};

}  // namespace hr::p2p
