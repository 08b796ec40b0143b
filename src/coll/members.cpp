#include "coll/members.hpp"

#include <algorithm>
#include <limits>

#include "base/knobs.hpp"
#include "boot/boot.hpp"
#include "coll/compose/hosts.hpp"
#include "coll/shared/segment.hpp"
#include "p2p/p2p.hpp"

namespace hr::coll {
namespace {

// Tags distinguish the agreements of a communicator's segments; the tags for persistent requests begin at kTags.
constexpr int kNonblockingSegments = ((1 << 28) + 1) * shared::Segment::kTags;

}  // namespace

Members::Members(const comm::Communicator& comm, Sequence sequence)
    : comm_(comm),
      peers_(comm.peers().procs()),
      size_(comm.size()),
      own_(comm.rank()),
      inter_(comm.is_inter()),
      sequence_(sequence) {
  find_out();
}

Members::Members(const comm::Communicator& comm, std::vector<int> ranks, Sequence sequence)
    : comm_(comm),
      ranks_(std::move(ranks)),
      size_(static_cast<int>(ranks_.size())),
      own_(static_cast<int>(std::find(ranks_.begin(), ranks_.end(), comm.rank()) - ranks_.begin())),
      inter_(false),
      sequence_(sequence) {
  procs_.reserve(ranks_.size());
  for (const int rank : ranks_) procs_.push_back(comm.peer_proc(rank));
  peers_ = {procs_.data(), size_};
  find_out();
}

Members::~Members() = default;

void Members::find_out() {
  together_ = inter_ || comm::on_one_host(peers_);
  spread_ = !together_ && ranks_.empty();  // a list of some of the processes is not split again
  alike_ = std::all_of(peers_.begin(), peers_.end(), [](int proc) { return boot::processes().alike(proc); });
  can_share_ = !inter_ && alike_ && together_ && size_ > 1 && knobs().coll_shared_bytes != 0 &&
               std::all_of(peers_.begin(), peers_.end(), p2p::shares_memory);
  shared_from_ = std::numeric_limits<int>::max();
  if (!can_share_) return;
  const bool blocking = sequence_ == Sequence::kBlocking;
  shared_from_ = (blocking ? 0 : comm::Communicator::kFirstNonblockingTag) + knobs().coll_shared_after;
  segment_ = std::make_unique<shared::Segment>(*this, blocking ? 0 : kNonblockingSegments);
}

const Hosts* Members::hosts() const {
  if (!spread_) return nullptr;
  if (hosts_ == nullptr) {
    hosts_ = std::make_unique<Hosts>(comm_, peers_, sequence_);
    spread_ = hosts_->count() < size_;
    if (!spread_) hosts_.reset();
  }
  return hosts_.get();
}

// If the members are on several hosts and hosts() is null, there is one member on each host.
int Members::host_count() const {
  if (together_) return 1;
  const Hosts* spread = hosts();
  return spread != nullptr ? spread->count() : size_;
}

int Members::ranks_per_host() const {
  if (together_) return size_;
  const Hosts* spread = hosts();
  return spread != nullptr ? spread->most_on_one() : 1;
}

const Members& detail::find_members(comm::Communicator& comm, Sequence sequence) {
  if (comm.collectives_ == nullptr) [[unlikely]]
    comm.collectives_ = std::make_unique<Kept>(comm);
  auto& kept = static_cast<Kept&>(*comm.collectives_);
  if (sequence == Sequence::kBlocking) return kept.members;
  if (kept.nonblocking == nullptr) kept.nonblocking = std::make_unique<Members>(comm, sequence);
  return *kept.nonblocking;
}

}  // namespace hr::coll
