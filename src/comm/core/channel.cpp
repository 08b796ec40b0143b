// The channel that a communicator uses.
#include "p2p/channel.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/lock.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "boot/processes.hpp"
#include "comm/communicator.hpp"
#include "comm/context.hpp"
#include "comm/core/state.hpp"

namespace hr::comm {
namespace {

// Freed communicators whose operations have not ended. Process-wide, as they may outlast the use of MPI.
std::vector<Communicator*> kept;

void release_kept() {
  if (state == nullptr) return kept.clear();
  std::erase_if(kept, [](Communicator* each) {
    if (each->channel_operations_.load(std::memory_order_acquire) != 0) return false;
    release(each);
    return true;
  });
}

// Returns the number of the channel; the same on all members.
int number_of(const Communicator& comm) {
  const std::uint32_t number = comm.context() / kContextSpacing;
  if (comm.is_inter() || comm.has_others_ || number <= kSelfNumber) return 0;
  int least = INT32_MAX;
  for (const int proc : comm.local_->procs()) least = std::min(least, p2p::channels::offered_by(proc));
  return least <= 1 ? 0 : 1 + static_cast<int>(number % static_cast<std::uint32_t>(least - 1));
}

}  // namespace

p2p::Channel* choose_channel(Communicator& comm) {
  const LibraryGuard guard;
  if (comm.context() == 0 || comm.channel_known_.load(std::memory_order_relaxed))
    return comm.channel_.load(std::memory_order_relaxed);
  const int number = number_of(comm);
  if (p2p::channels::offered_by(boot::identity().rank) > 1)
    log::write(log::Level::kDecision, "communicator %u uses channel %d", comm.context() / kContextSpacing, number);
  if (number != 0) {
    p2p::Channel* const channel = p2p::channels::at(number);
    if (channel == nullptr) {
      // The other members will use the channel, so this process cannot reach them.
      log::write(log::Level::kError, "channel %d cannot be opened: %s (HEADRACE_CHANNELS=1 uses none)", number,
                 take_detail().c_str());
      ::_exit(1);
    }
    p2p::channels::tidy_with(release_kept);
    p2p::channels::find_members_with([](const Object& communicator, int source) {
      const Group& peers = static_cast<const Communicator&>(communicator).peers();
      return source < peers.size() ? peers.proc(source) : -1;
    });
    comm.channel_.store(channel, std::memory_order_release);
  }
  comm.channel_known_.store(true, std::memory_order_release);
  return comm.channel_.load(std::memory_order_relaxed);
}

void keep_for_channel(Communicator& comm) {
  if (comm.channel_operations_.load(std::memory_order_acquire) == 0) return;
  comm.retain();
  kept.push_back(&comm);
}

}  // namespace hr::comm
