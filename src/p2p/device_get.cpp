#include "p2p/device_get.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "mem/cuda/fence.hpp"
#include "p2p/claims.hpp"
#include "p2p/lent_words.hpp"
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

// A receive of device data.
struct Get {
  enum class Stage : std::uint8_t {
    kOffered,  // this process's memory, to the sender
    kPutting,  // the sender has taken the offer up
    kUnready,  // to be fetched when the sender's data is final
    kFetching,
  };

  Request* receive = nullptr;
  MessageName message{};
  std::uint64_t flags = 0;  // of the announcement
  PeerCopy copy;            // prepared
  Stage stage = Stage::kFetching;
  LentWord word;  // offered: who claims it moves the data
  double offered_until = 0;
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

Status fetch(Get& get) {
  if ((get.flags & wire::kPending) == 0) {
    get.stage = Get::Stage::kFetching;
    return get.copy.start(PeerCopy::Direction::kFetch, get.receive->view_, get.receive->total_);
  }
  get.stage = Get::Stage::kUnready;
  send_answer(get.message.proc, wire::answer(wire::Kind::kAsk, get.message.cookie));
  return kOk;
}

// A sender that is in the library answers at once, one that is starting many messages within a fraction of a
// millisecond. Until then it is worth waiting as long as the message takes: a GPU that puts some messages and fetches
// others does one after the other.
double patience(std::size_t bytes) {
  constexpr double kSecondsPerByte = 1 / 400e9;
  const int chosen = knobs().cuda_put_patience;
  return chosen != 0 ? 1e-6 * chosen : kSecondsPerByte * static_cast<double>(bytes);
}

// True where nothing that the receiver's program had put on its default stream can be about to use the memory. Asked
// now, the stream may seem busy with messages of ours.
bool default_stream_idle(const Request& receive) {
  if (mem::cuda::Fence::needless_since(receive.view_.where, receive.turn_)) return true;
  mem::cuda::Fence fence;
  return fence.set(receive.view_.where).ok() && fence.passed();
}

// Whether the sender may put the data, in which case it has been told where.
bool offer(Get& get, const PeerView& from) {
  Request& receive = *get.receive;
  Peer& peer = engine()->peers[static_cast<std::size_t>(get.message.proc)];
  if (receive.total_ < knobs().cuda_put_bytes || !peer.takes_puts || !receive.view_.where.is_device()) return false;
  if (from.list.id != 0 || !layout::cuda::regular(receive.view_) || !default_stream_idle(receive)) return false;
  struct {
    wire::Put put;
    PeerView to;
  } message;
  if (!layout::cuda::announce(receive.view_, peer.proc, &message.to).ok()) {
    static_cast<void>(take_detail());
    return false;
  }
  if (!layout::cuda::engine_moves(from, message.to, receive.total_)) return false;
  get.word = lend_word(*peer.transport, engine()->rank);
  if (get.word.value == nullptr) return false;
  Claims(*get.word.value, get.word.generation, 1).open();
  message.put = {reinterpret_cast<std::uint64_t>(&receive), receive.total_, get.word.index, get.word.generation};
  get.stage = Get::Stage::kOffered;
  get.offered_until = now_seconds() + patience(receive.total_);
  send_answer(peer.proc, wire::answer(wire::Kind::kPut, get.message.cookie), &message,
              sizeof message.put + message.to.wire_bytes());
  return true;
}

// True when the sender has not taken up the offer, and cannot any more.
bool take_back(Get& get) {
  if (Claims(*get.word.value, get.word.generation, 1).from_front().bytes == 0) {
    get.stage = Get::Stage::kPutting;
    return false;
  }
  give_back_word(get.word);
  return true;
}

// *done: this get is over, with what is returned.
Status step(Get& get, bool* done) {
  *done = false;
  if (get.stage == Get::Stage::kFetching) return get.copy.poll(done);
  if (get.stage != Get::Stage::kOffered || now_seconds() < get.offered_until || !take_back(get)) return kOk;
  const Status status = fetch(get);
  *done = !status.ok();
  return status;
}

using Place = std::vector<std::unique_ptr<Get>>::iterator;

// Out of the table, for the next one.
void retire(Place place) {
  std::unique_ptr<Get> ended = std::move(*place);
  gets.erase(place);
  ended->copy.release();
  free_gets.push_back(std::move(ended));
}

bool poll_gets() {
  bool moved = false;
  for (std::size_t i = 0; i < gets.size();) {
    bool done = false;
    const Status status = step(*gets[i], &done);
    if (!done) {
      ++i;
      continue;
    }
    moved = true;
    end(*gets[i], status);
    retire(gets.begin() + static_cast<std::ptrdiff_t>(i));
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
  if ((announced.flags & wire::kView) == 0 || receive.view_.where.is_host() || receive.total_ == 0) return kCannot;
  return knobs().cuda_ipc == CudaIpcChoice::kOff ? kCannot : 0.0;
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
  get->flags = announced.flags;
  HR_TRY(get->copy.prepare(from, announced.from_proc, receive.view_));
  if (!offer(*get, from)) HR_TRY(fetch(*get));
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
  get.flags &= ~std::uint64_t{wire::kPending};
  const Status status = fetch(get);
  if (status.ok()) return;
  end(get, status);
  retire(found);
}

void put_ended(Request& receive, wire::PutEnd how, const std::byte* text, std::size_t bytes) {
  const auto found = std::find_if(gets.begin(), gets.end(), [&](const auto& get) { return get->receive == &receive; });
  Get& get = **found;
  give_back_word(get.word);
  if (how == wire::kPutRefused || how == wire::kPutDeclined) {
    if (how == wire::kPutRefused) engine()->peers[static_cast<std::size_t>(get.message.proc)].takes_puts = false;
    const Status status = fetch(get);
    if (status.ok()) return;
    end(get, status);
    return retire(found);
  }
  retire(found);
  if (how == wire::kPutDone) return finish_rendezvous(receive, kOk);
  const std::string why(reinterpret_cast<const char*>(text), bytes);
  finish_rendezvous(receive, fail(Errc::kOther, "the sender could not put its data here: %s", why.c_str()));
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
