#include "p2p/device_get.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/knobs.hpp"
#include "mem/cuda/fence.hpp"
#include "p2p/progress.hpp"
#include "p2p/rendezvous.hpp"

namespace hr::p2p {
namespace device_get {
namespace {

using layout::cuda::PeerCopy;
using layout::cuda::PeerView;

// A message of some process, named as in its announcement.
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
  bool waits;  // not started: the sender's data is not final
};

// A send of this process whose receiver waits for the data to become final.
struct Unready {
  int proc;  // of the receiver
  Request* send;
};

std::vector<std::unique_ptr<Get>> gets;
std::vector<std::unique_ptr<Get>> free_gets;
std::vector<Unready> unready;
bool advance(void*);

Status set_fence(Request& send) {
  send.fence_ = std::make_shared<mem::cuda::Fence>();
  return send.fence_->set(send.view_.where);
}

PolledWait polled;

void watch() {
  add_hook(&advance, nullptr);
  polled.hold(!gets.empty() || !unready.empty());
}

void end(Get& get, Status status) {
  send_answer(get.message.proc, wire::answer(wire::Kind::kDone, get.message.cookie));
  finish_rendezvous(*get.receive, status);
}

bool poll_gets() {
  bool moved = false;
  for (std::size_t i = 0; i < gets.size();) {
    Get& get = *gets[i];
    bool done = false;
    const Status status = get.waits ? kOk : get.copy.poll(&done);
    if (!done) {
      ++i;
      continue;
    }
    moved = true;
    std::unique_ptr<Get> ended = std::move(gets[i]);
    gets.erase(gets.begin() + static_cast<std::ptrdiff_t>(i));
    end(*ended, status);
    free_gets.push_back(std::move(ended));
  }
  return moved;
}

bool poll_unready() {
  return std::erase_if(unready, [](const Unready& each) {
           if (!each.send->fence_->passed()) return false;
           send_answer(each.proc, wire::answer(wire::Kind::kReady, reinterpret_cast<std::uint64_t>(each.send)));
           return true;
         }) != 0;
}

bool advance(void*) {
  bool moved = false;
  if (!gets.empty()) moved |= poll_gets();
  if (!unready.empty()) moved |= poll_unready();
  const bool any = !gets.empty() || !unready.empty();
  polled.hold(any);
  if (!any) remove_hook(&advance, nullptr);
  return moved;
}

double probe(const Announcement& announced, const Request& receive, const transport::Caps& /*caps*/) {
  if ((announced.flags & wire::kView) == 0 || receive.total_ == 0) return kCannot;
  if (knobs().cuda_ipc == CudaIpcChoice::kOff) return kCannot;
  if (receive.view_.where.is_host()) {
    const bool direct = receive.view_.contiguous && receive.view_.where.pinned &&
                        receive.view_.where.context != nullptr && layout::cuda::is_contiguous(announced.tail);
    return direct ? 0.0 : kCannot;
  }
  // Within a device the multiprocessors' queue copies.
  return announced.in_turns ? kSwitchSeconds + static_cast<double>(receive.total_) / kDeviceBytesPerSecond : 0.0;
}

std::unique_ptr<Get> take_get() {
  if (free_gets.empty()) return std::make_unique<Get>();
  std::unique_ptr<Get> get = std::move(free_gets.back());
  free_gets.pop_back();
  return get;
}

Status begin(const Announcement& announced, Request& receive) {
  PeerView from;
  std::memcpy(static_cast<void*>(&from), announced.tail, announced.tail_bytes);
  std::unique_ptr<Get> get = take_get();
  get->receive = &receive;
  get->message = {announced.from_proc, announced.sender_cookie};
  get->waits = (announced.flags & wire::kPending) != 0;
  if (get->waits) {
    HR_TRY(get->copy.prepare(from, announced.from_proc, receive.view_));
    send_answer(announced.from_proc, wire::answer(wire::Kind::kAsk, announced.sender_cookie));
  } else {
    HR_TRY(get->copy.fetch(from, announced.from_proc, receive.view_, receive.total_));
  }
  gets.push_back(std::move(get));
  watch();
  return kOk;
}

}  // namespace

bool serves(const Peer& peer, const layout::View& data) noexcept {
  return mem::cuda::exports_to(peer.proc, data.where) && data.packed != 0 && peer.caps.same_node &&
         knobs().cuda_ipc != CudaIpcChoice::kOff;
}

Status describe(const Peer& peer, Request& send, std::uint64_t* flags, PeerView* view) {
  const Status described = layout::cuda::announce(send.view_, peer.proc, view);
  if (described.errc() == Errc::kUnsupportedOperation) return kOk;
  HR_TRY(described);
  *flags |= wire::kView;
  if (send.fence_ == nullptr && !mem::cuda::Fence::needless(send.view_.where)) HR_TRY(set_fence(send));
  if (send.fence_ != nullptr && !send.fence_->passed()) *flags |= wire::kPending;
  return kOk;
}

void arrive_ask(int from_proc, Request& send) {
  // A device in an error state: the receiver's copy reports it.
  if (send.fence_ == nullptr && !set_fence(send).ok()) {
    send_answer(from_proc, wire::answer(wire::Kind::kReady, reinterpret_cast<std::uint64_t>(&send)));
    return;
  }
  unready.push_back({from_proc, &send});
  watch();
}

void arrive_ready(int from_proc, std::uint64_t sender_cookie) {
  const MessageName message{from_proc, sender_cookie};
  const auto found = std::find_if(gets.begin(), gets.end(), [&](const auto& get) { return get->message == message; });
  if (found == gets.end()) return;  // it failed meanwhile
  Get& get = **found;
  get.waits = false;
  const Status status = get.copy.start(get.receive->view_, get.receive->total_);
  if (status.ok()) return;
  const std::unique_ptr<Get> ended = std::move(*found);
  gets.erase(found);
  end(*ended, status);
}

void lose(int proc) {
  std::erase_if(gets, [proc](const auto& get) { return get->waits && get->message.proc == proc; });
  std::erase_if(unready, [proc](const Unready& each) { return each.proc == proc; });
}

bool holds(const Request& request) noexcept {
  return std::any_of(gets.begin(), gets.end(), [&](const auto& get) { return get->receive == &request; });
}

void finalize() {
  remove_hook(&advance, nullptr);
  gets.clear();
  free_gets.clear();
  unready.clear();
  polled.hold(false);
}

}  // namespace device_get

const Rendezvous kDeviceGet{"device_get", device_get::probe, device_get::begin};

}  // namespace hr::p2p
