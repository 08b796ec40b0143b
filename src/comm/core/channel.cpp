// The channels that a communicator uses.
#include "p2p/channel.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "base/lock.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "boot/processes.hpp"
#include "comm/communicator.hpp"
#include "comm/context.hpp"
#include "comm/core/state.hpp"
#include "comm/failure.hpp"

namespace hr::comm {
namespace {

// One of several channels of a communicator. Threads: `channel` is written once, under the library lock, when a tag
// first needs the channel; the channel's lock guards `operations`.
struct alignas(64) Share {
  std::atomic<p2p::Channel*> channel{nullptr};
  std::atomic<std::uint32_t> operations{0};  // as Communicator::channel_operations_
};

// The channels of a communicator that uses several, chosen by tag (docs/adr/0048-channels.md). Element i is channel
// i + 1; tag 0 uses element `first`.
struct Shares {
  Shares(std::uint32_t number, unsigned count)
      : first(number % count), count(count), of(std::make_unique<Share[]>(count)) {}
  unsigned first;
  unsigned count;
  std::unique_ptr<Share[]> of;
};

// The shares of each communicator that uses several channels, by the number of its context. They are not part of the
// communicator, so that the object that every call reads stays small. Process-wide. Threads: read by any thread,
// written under the library lock; an element exists as long as its communicator.
constexpr std::uint32_t kInBlock = 512;
using Block = std::array<std::atomic<Shares*>, kInBlock>;
std::array<std::atomic<Block*>, p2p::kMostContexts / kContextSpacing / kInBlock> blocks{};

// Freed communicators whose operations have not ended. Process-wide, because they may outlast the use of MPI.
std::vector<Communicator*> kept;

std::uint32_t number_of(const Communicator& comm) noexcept { return comm.context() / kContextSpacing; }

Shares* shares_of(const Communicator& comm) noexcept {
  if (!comm.several_.load(std::memory_order_acquire)) return nullptr;
  const Block* const block = blocks[number_of(comm) / kInBlock].load(std::memory_order_acquire);
  return (*block)[number_of(comm) % kInBlock].load(std::memory_order_acquire);
}

void make_shares(Communicator& comm, unsigned count) {
  std::atomic<Block*>& block = blocks[number_of(comm) / kInBlock];
  if (block.load(std::memory_order_relaxed) == nullptr) block.store(new Block{}, std::memory_order_release);
  auto made = std::make_unique<Shares>(number_of(comm), count);
  (*block.load(std::memory_order_relaxed))[number_of(comm) % kInBlock].store(made.release(), std::memory_order_release);
  comm.several_.store(true, std::memory_order_release);
}

bool has_operations(const Communicator& comm) {
  if (comm.channel_operations_.load(std::memory_order_acquire) != 0) return true;
  const Shares* const shares = shares_of(comm);
  return shares != nullptr && std::any_of(shares->of.get(), shares->of.get() + shares->count, [](const Share& each) {
           return each.operations.load(std::memory_order_acquire) != 0;
         });
}

void release_kept() {
  if (state == nullptr) return kept.clear();
  std::erase_if(kept, [](Communicator* each) {
    if (has_operations(*each)) return false;
    release(each);
    return true;
  });
}

bool is_over_hosts(const Communicator& comm) {
  const auto& procs = comm.local_->procs();
  return std::any_of(procs.begin(), procs.end(), [](int proc) { return !boot::processes().on_this_host(proc); });
}

// Returns the number of channels beyond channel 0 from which the communicator may choose. All members get the same
// number. 0: the communicator uses channel 0.
unsigned choices_of(const Communicator& comm) {
  if (comm.is_inter() || comm.has_others_ || number_of(comm) <= kSelfNumber) return 0;
  int least = channels_of_context(comm.context());
  if (!is_over_hosts(comm)) {
    least = INT32_MAX;
    for (const int proc : comm.local_->procs()) least = std::min(least, p2p::channels::offered_by(proc));
  }
  return least <= 1 ? 0 : static_cast<unsigned>(least - 1);
}

p2p::Channel* open(const Communicator& comm, unsigned number) {
  p2p::Channel& channel = p2p::channels::at(static_cast<int>(number), is_over_hosts(comm));
  p2p::channels::tidy_with(release_kept);
  p2p::channels::find_members_with([](const Object& communicator, int source) {
    const Group& peers = static_cast<const Communicator&>(communicator).peers();
    return source < peers.size() ? peers.proc(source) : -1;
  });
  return &channel;
}

// Decides between channel 0, one other channel, and several. A call that has found the communicator valid may have
// waited for the library lock while it was revoked. Threads: library lock.
void decide(Communicator& comm) {
  // A revocation ends operations on known channels. On channel 0, a call finds the communicator revoked.
  if (is_revoked(comm)) return comm.channel_known_.store(true, std::memory_order_release);
  const std::uint32_t number = number_of(comm);
  const unsigned choices = choices_of(comm);
  const bool offers = p2p::channels::offered_by(boot::identity().rank) > 1 || p2p::channels::offered_over_hosts() > 1;
  if ((comm.asserted_ & kNoAnyTag) != 0 && choices > 1) {
    log::write(log::Level::kDecision, "communicator %u uses %u channels, by tag", number, choices);
    return make_shares(comm, choices);
  }
  if (choices > 1 && (assertions_of(comm) & kNoAnyTag) != 0)
    show_ignored("mpi_assert_no_any_tag", "true", "some members did not set it when the communicator was created");
  const unsigned chosen = choices == 0 ? 0 : 1 + number % choices;
  if (offers) log::write(log::Level::kDecision, "communicator %u uses channel %u", number, chosen);
  if (chosen != 0) comm.channel_.store(open(comm, chosen), std::memory_order_release);
  comm.channel_known_.store(true, std::memory_order_release);
}

// Returns the index of a tag's channel; the same on all members. Tags of one block have consecutive channels, and each
// block is shifted by a pseudo-random number, so that tags at a regular distance do not all use the same few channels.
unsigned index_of(const Shares& shares, int tag) noexcept {
  constexpr unsigned kBlockBits = 5;
  const auto value = static_cast<std::uint32_t>(tag);
  std::uint32_t shift = (value >> kBlockBits) * 0x9e3779b1U;
  shift = (shift ^ shift >> 15) * 0x85ebca6bU;
  return (shares.first + value + (shift >> 16)) % shares.count;
}

p2p::Channel* open_share(Communicator& comm, Share& share, unsigned number) {
  const LibraryGuard guard;
  if (share.channel.load(std::memory_order_relaxed) == nullptr) {
    share.channel.store(open(comm, number), std::memory_order_release);
    // The revocation has ended operations only on the channels that were open.
    if (is_revoked(comm)) p2p::channels::end(static_cast<int>(number), comm.context(), revoked_error());
  }
  return share.channel.load(std::memory_order_relaxed);
}

}  // namespace

p2p::Channel* choose_channel(Communicator& comm) {
  if (comm.several_.load(std::memory_order_acquire)) return nullptr;
  const LibraryGuard guard;
  const bool decided =
      comm.channel_known_.load(std::memory_order_relaxed) || comm.several_.load(std::memory_order_relaxed);
  if (comm.context() != 0 && !decided) decide(comm);
  return comm.channel_.load(std::memory_order_relaxed);
}

void keep_on_engine(Communicator& comm) noexcept { comm.channel_known_.store(true, std::memory_order_release); }

p2p::Channel* channel_of(Communicator& comm, int tag, std::atomic<std::uint32_t>** operations) {
  Shares* const shares = shares_of(comm);
  const unsigned index = index_of(*shares, tag);
  Share& share = shares->of[index];
  *operations = &share.operations;
  p2p::Channel* const known = share.channel.load(std::memory_order_acquire);
  return known != nullptr ? known : open_share(comm, share, index + 1);
}

bool may_use_several_channels(const Communicator& comm) {
  return (comm.asserted_ & kNoAnyTag) != 0 && choices_of(comm) > 1;
}

std::atomic<std::uint32_t>* operations_on(Communicator& comm, const p2p::Channel& channel) {
  Shares* const shares = shares_of(comm);
  if (shares == nullptr) return &comm.channel_operations_;
  return &shares->of[channel.number() - 1].operations;
}

std::vector<p2p::Channel*> channels_of(const Communicator& comm) {
  std::vector<p2p::Channel*> used;
  if (p2p::Channel* const only = comm.channel_.load(std::memory_order_acquire); only != nullptr) used.push_back(only);
  const Shares* const shares = shares_of(comm);
  for (unsigned i = 0; shares != nullptr && i < shares->count; ++i) {
    p2p::Channel* const each = shares->of[i].channel.load(std::memory_order_acquire);
    if (each != nullptr) used.push_back(each);
  }
  return used;
}

void forget_channels(const Communicator& comm) noexcept {
  if (!comm.several_.load(std::memory_order_acquire)) return;
  Block& block = *blocks[number_of(comm) / kInBlock].load(std::memory_order_acquire);
  delete block[number_of(comm) % kInBlock].exchange(nullptr, std::memory_order_acq_rel);
}

void keep_for_channel(Communicator& comm) {
  if (!has_operations(comm)) return;
  comm.retain();
  kept.push_back(&comm);
}

}  // namespace hr::comm
