#include "p2p/device_put.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/knobs.hpp"
#include "layout/cuda/peer.hpp"
#include "mem/cuda/fence.hpp"
#include "p2p/progress.hpp"
#include "p2p/rendezvous.hpp"

namespace hr::p2p {
namespace device_put {
namespace {

using layout::cuda::PeerCopy;
using layout::cuda::PeerView;

// A receive that waits for the sender to put its data.
struct Expected {
  Request* receive;
  Announcement announced;
  PeerView from;  // the tail of the announcement
  PeerView own;
  bool asked;  // kPut has been sent
};

// A send whose data this process puts.
struct Put {
  Request* send;
  int to_proc;
  std::uint64_t receiver_cookie;
  PeerCopy copy;
};

std::vector<std::unique_ptr<Expected>> expected;
std::vector<std::unique_ptr<Expected>> free_expected;
std::vector<std::unique_ptr<Put>> puts;
std::vector<std::unique_ptr<Put>> free_puts;
std::vector<int> refusing;  // processes that cannot map our memory
PolledWait polled;

template <class T>
std::unique_ptr<T> take(std::vector<std::unique_ptr<T>>& free) {
  if (free.empty()) return std::make_unique<T>();
  std::unique_ptr<T> taken = std::move(free.back());
  free.pop_back();
  return taken;
}

template <class T>
std::unique_ptr<T> take_out(std::vector<std::unique_ptr<T>>& all, std::size_t index) {
  std::unique_ptr<T> taken = std::move(all[index]);
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(index));
  return taken;
}

bool advance(void*);

void watch() {
  const bool asking = std::any_of(expected.begin(), expected.end(), [](const auto& each) { return !each->asked; });
  const bool any = asking || !puts.empty();
  polled.hold(any);
  if (any) {
    add_hook(&advance, nullptr);
  } else {
    remove_hook(&advance, nullptr);
  }
}

Status set_fence(Request& receive) {
  receive.fence_ = std::make_shared<mem::cuda::Fence>();
  return receive.fence_->set(receive.view_.where);
}

// True once the answer is on its way.
bool ask(Expected& each) {
  Request& receive = *each.receive;
  // A device in an error state shows it when work is given to it.
  if (receive.fence_ == nullptr && !set_fence(receive).ok()) receive.fence_.reset();
  if (receive.fence_ != nullptr && !receive.fence_->passed()) return false;
  struct {
    wire::Put put;
    PeerView view;
  } message{{reinterpret_cast<std::uint64_t>(&receive), receive.total_}, each.own};
  Peer& peer = engine()->peers[static_cast<std::size_t>(each.announced.from_proc)];
  const Status sent = peer.transport->send(peer.proc, wire::answer(wire::Kind::kPut, each.announced.sender_cookie),
                                           &message, sizeof message.put + each.own.wire_bytes());
  each.asked = sent.ok();
  return each.asked;
}

void end(Put& put, Status status) {
  if (status.ok()) [[likely]] {
    send_answer(put.to_proc, wire::put_end(put.receiver_cookie, wire::kPutDone));
  } else {
    std::string why = take_detail();
    send_answer(put.to_proc, wire::put_end(put.receiver_cookie, wire::kPutFailed), why.data(),
                std::min(why.size(), Answer::kMaxBytes));
    set_detail(std::move(why));
  }
  Completion completion;
  completion.error = status;
  complete(*put.send, completion);
}

bool advance(void*) {
  bool moved = false;
  for (std::size_t i = 0; i < puts.size();) {
    bool done = false;
    const Status status = puts[i]->copy.poll(&done);
    if (!done) {
      ++i;
      continue;
    }
    moved = true;
    std::unique_ptr<Put> ended = take_out(puts, i);
    end(*ended, status);
    free_puts.push_back(std::move(ended));
  }
  for (const auto& each : expected) {
    if (!each->asked) moved |= ask(*each);
  }
  watch();
  return moved;
}

bool can_receive(const layout::View& view) noexcept { return view.where.is_device() && view.where.context != nullptr; }

double probe(const Announcement& announced, const Request& receive, const transport::Caps& /*caps*/) {
  if ((announced.flags & wire::kView) == 0 || !can_receive(receive.view_) || receive.total_ == 0) return kCannot;
  return knobs().cuda_ipc == CudaIpcChoice::kOff ||
                 std::find(refusing.begin(), refusing.end(), announced.from_proc) != refusing.end()
             ? kCannot
             : 0.0;
}

Status begin(const Announcement& announced, Request& receive) {
  std::unique_ptr<Expected> each = take(free_expected);
  std::memcpy(static_cast<void*>(&each->from), announced.tail, std::min(announced.tail_bytes, sizeof(PeerView)));
  HR_TRY(layout::cuda::announce(receive.view_, announced.from_proc, &each->own));
  if (!each->from.coarse() || !each->own.coarse()) {
    free_expected.push_back(std::move(each));
    return Status(Errc::kUnsupportedOperation);
  }
  each->receive = &receive;
  each->announced = announced;
  each->asked = false;
  expected.push_back(std::move(each));
  if (!ask(*expected.back())) watch();
  return kOk;
}

}  // namespace

void posted(Request& receive) {
  // Scattered data is fetched, in the order of streams.
  if (receive.view_.contiguous && can_receive(receive.view_) && !set_fence(receive).ok()) receive.fence_.reset();
}

void arrive_put(int from_proc, Request& send, const std::byte* payload, std::size_t bytes) {
  wire::Put wanted;
  PeerView to;
  std::memcpy(&wanted, payload, sizeof wanted);
  std::memcpy(static_cast<void*>(&to), payload + sizeof wanted, bytes - sizeof wanted);
  std::unique_ptr<Put> put = take(free_puts);
  put->send = &send;
  put->to_proc = from_proc;
  put->receiver_cookie = wanted.receiver_cookie;
  Status status = put->copy.prepare(to, from_proc, send.view_);
  if (status.errc() == Errc::kUnsupportedOperation) {
    send_answer(from_proc, wire::put_end(wanted.receiver_cookie, wire::kPutRefused));
    return;
  }
  if (status.ok()) status = put->copy.put(send.view_, wanted.bytes);
  if (!status.ok()) return end(*put, status);
  puts.push_back(std::move(put));
  watch();
}

void arrive_end(int from_proc, Request& receive, std::uint64_t result, const std::byte* why, std::size_t bytes) {
  const auto found =
      std::find_if(expected.begin(), expected.end(), [&](const auto& each) { return each->receive == &receive; });
  std::unique_ptr<Expected> ended = take_out(expected, static_cast<std::size_t>(found - expected.begin()));
  if (result == wire::kPutRefused) {
    refusing.push_back(from_proc);
    ended->announced.tail = reinterpret_cast<const std::byte*>(&ended->from);
    begin_rendezvous(receive, ended->announced);
    return;
  }
  finish_rendezvous(receive, result == wire::kPutDone
                                 ? kOk
                                 : fail(Errc::kOther, "rank %d could not copy its data here: %.*s", from_proc,
                                        static_cast<int>(bytes), reinterpret_cast<const char*>(why)));
  free_expected.push_back(std::move(ended));
}

void finalize() {
  remove_hook(&advance, nullptr);
  expected.clear();
  free_expected.clear();
  puts.clear();
  free_puts.clear();
  refusing.clear();
  polled.hold(false);
}

}  // namespace device_put

const Rendezvous kDevicePut{"device_put", device_put::probe, device_put::begin};

}  // namespace hr::p2p
