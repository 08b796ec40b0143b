#include "layout/device/local_copy.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "p2p/core/engine.hpp"
#include "p2p/progress.hpp"
#include "p2p/protocol/arrivals.hpp"
#include "p2p/protocol/rendezvous.hpp"

// Local copy: moves a message of this process to itself with one typed copy. Between device buffers, a device makes the
// copy, and a hook polls it.
// Owner: the table here, until everything in it is complete. Threads: library lock.
namespace hr::p2p {
namespace local_copy {
namespace {

struct Moving {
  Request* send;
  Request* receive;
  layout::device::LocalCopy copy;
};

struct State final : FileState {
  std::vector<std::unique_ptr<Moving>> moving;
  PolledWait polled;
};
State& state() { return own<State>(); }

void end(Request& send, Request& receive, Status status) {
  finish_rendezvous(receive, status);
  finish_send(send, Completion{});
}

// Progress hook: true if a copy has ended. Polls the latest copy first: if it is complete, the driver need not be
// queried about earlier ones on its stream (WorkEvent).
bool advance(void*) {
  bool moved = false;
  for (std::size_t i = state().moving.size(); i-- > 0;) {
    bool done = false;
    const Status status = state().moving[i]->copy.poll(&done);
    if (!done) continue;
    moved = true;
    const std::unique_ptr<Moving> ended = std::move(state().moving[i]);
    state().moving.erase(state().moving.begin() + static_cast<std::ptrdiff_t>(i));
    end(*ended->send, *ended->receive, status);
  }
  state().polled.hold(!state().moving.empty());
  if (state().moving.empty()) remove_hook(&advance, nullptr);
  return moved;
}

bool on_devices(const layout::View& from, const layout::View& to) {
  return !from.where.is_host() && !to.where.is_host() && (from.where.is_device() || to.where.is_device());
}

bool is_moving(const Request& send) {
  return std::ranges::any_of(state().moving, [&](const auto& each) { return each->send == &send; });
}

Status start(Request& send, Request& receive, bool* started) {
  *started = false;
  if (receive.total_ == 0 || !on_devices(send.view_, receive.view_)) return kOk;
  auto made = std::make_unique<Moving>();
  made->send = &send;
  made->receive = &receive;
  HR_TRY(made->copy.start(send.view_, receive.view_, receive.total_, started));
  if (!*started) return kOk;
  state().moving.push_back(std::move(made));
  add_hook(&advance, nullptr);
  state().polled.hold(true);
  return kOk;
}

Estimate probe(const MessageClass& message, const transport::Caps& caps) {
  if (!caps.same_address_space) return kNotApplicable;
  return {message.from_device() || message.to_device() ? mem::device::costs().copy_seconds
                                                       : caps.memory().seconds(message.bytes)};
}

Status begin(const ReadyToSend& rts, Request& receive) {
  Request* const waiting = waiting_send(rts.from_proc, rts.sender_cookie);
  if (waiting == nullptr || is_moving(*waiting)) return fail(Errc::kOther, "a message to oneself has no send");
  Request& send = *waiting;
  bool started = false;
  Status status = start(send, receive, &started);
  if (started) return kOk;
  if (status.ok() && receive.total_ != 0) status = layout::copy(send.view_, receive.view_);
  end(send, receive, status);
  return kOk;
}

void finalize() {
  remove_hook(&advance, nullptr);
  state().moving.clear();
  state().polled.hold(false);
}

}  // namespace
}  // namespace local_copy

extern const Rendezvous kLocalCopy;
const Rendezvous kLocalCopy{
    .name = "local_copy", .probe = local_copy::probe, .begin = local_copy::begin, .finalize = local_copy::finalize};

}  // namespace hr::p2p
