#include "p2p/protocol/choice.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/knobs.hpp"
#include "layout/device/peer.hpp"
#include "mem/device/ipc.hpp"
#include "p2p/core/engine.hpp"

namespace hr::p2p {
namespace {

// Choices for the messages from one process.
struct PeerChoices {
  std::unordered_map<std::uint64_t, Choice> by_class;
  std::vector<const Rendezvous*> disabled;
};

struct State final : FileState {
  std::unordered_map<int, PeerChoices> peers;
  // Autotuning of choices that were renewed while messages were being timed for them.
  std::vector<std::unique_ptr<Autotune>> former_autotunes;
  // Last lookup.
  int last_proc = -1;
  std::uint64_t last_key = 0;
  Choice* last = nullptr;
};
State& state() { return own<State>(); }

// Size classes begin at powers of two, and at the length that a knob specifies for the probes.
std::size_t least_of_size_class(std::size_t bytes) {
  const std::size_t least = std::bit_floor(bytes);
  const std::size_t limit = knobs().single_copy_bytes;
  return limit > least && limit <= bytes ? limit : least;
}

}  // namespace

MessageClass message_class(const ReadyToSend& rts, const Request& receive) {
  const layout::View& to = receive.view_;
  MessageClass message;
  message.bytes = least_of_size_class(receive.total_);
  message.flags = rts.flags & ~std::uint64_t{wire::kPending};
  message.readable = rts.remote_address != 0;
  message.from_contiguous = (rts.flags & wire::kView) == 0 || layout::device::is_contiguous(rts.tail);
  message.time_sliced = rts.time_sliced;
  message.to = to.where.kind;
  message.to_contiguous = to.contiguous;
  message.to_pinned = to.where.is_host() && to.where.pinned && to.where.context != nullptr;
  message.to_exportable = (rts.flags & wire::kPinned) != 0 && mem::device::exports_to(rts.from_proc, to.where);
  return message;
}

// Size classes begin at powers of two, and at no more than one other length.
std::uint64_t MessageClass::key() const noexcept {
  const std::uint64_t size =
      2 * static_cast<std::uint64_t>(std::bit_width(bytes)) + (std::has_single_bit(bytes) ? 0 : 1);
  std::uint64_t key = size;  // below 2^8
  key = key << 9 | flags;
  key = key << 2 | static_cast<std::uint64_t>(to);
  for (const bool each : {readable, from_contiguous, time_sliced, to_contiguous, to_pinned, to_exportable})
    key = key << 1 | std::uint64_t{each};
  return key;
}

void Choice::make(std::span<const Rendezvous* const> disabled, const MessageClass& message,
                  const transport::Caps& caps) {
  struct Rated {
    const Rendezvous* protocol;
    Estimate estimate;
  };
  std::array<Rated, kMost> rated;
  count_ = 0;
  for (const Rendezvous* each : protocols()) {
    if (std::ranges::find(disabled, each) != disabled.end()) continue;
    const Estimate estimate = each->probe(message, caps);
    if (estimate.seconds < kNever) rated[count_++] = {each, estimate};
  }
  std::stable_sort(rated.begin(), rated.begin() + static_cast<std::ptrdiff_t>(count_),
                   [](const Rated& a, const Rated& b) { return a.estimate.seconds < b.estimate.seconds; });
  for (std::size_t i = 0; i < count_; ++i) order_[i] = rated[i].protocol;
  if (autotune_ != nullptr) state().former_autotunes.push_back(std::move(autotune_));
  if (count_ >= 2 && (rated[0].estimate.uncertain || rated[1].estimate.uncertain)) {
    autotune_ = std::make_unique<Autotune>(order_[0]->name, order_[1]->name);
  }
  made_ = true;
}

Choice& choice_of(int proc, const MessageClass& message, const transport::Caps& caps) {
  State& all = state();
  const std::uint64_t key = message.key();
  if (all.last_proc != proc || all.last_key != key) {
    all.last = &all.peers[proc].by_class[key];
    all.last_proc = proc;
    all.last_key = key;
  }
  if (!all.last->made_) [[unlikely]]
    all.last->make(all.peers[proc].disabled, message, caps);
  return *all.last;
}

void disable(const Rendezvous& protocol, int proc) {
  PeerChoices& peer = state().peers[proc];
  if (std::ranges::find(peer.disabled, &protocol) != peer.disabled.end()) return;
  peer.disabled.push_back(&protocol);
  for (auto& [key, choice] : peer.by_class) choice.made_ = false;
}

}  // namespace hr::p2p
