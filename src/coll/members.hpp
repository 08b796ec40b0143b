// Members: the processes that a collective runs over, and state kept between collectives over the same processes: the
// memory that they share and the plans of their operations.
//
// A communicator's first collective creates a list of all its processes. If they are on several hosts, compositions
// (compose/) run the algorithms of other operations over shorter lists: the processes on this host, and one process of
// each host. Algorithms see members by index, and do not know which of these lists they run over.
//
// A message within an operation is marked with its sender's rank in the communicator: two processes of one operation
// may exchange messages over several lists; these messages match in the order in which they are posted.
//
// Owner: the communicator, or the creator of the list; a pending operation holds the communicator. Threads: library
// lock.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "coll/plans.hpp"
#include "comm/communicator.hpp"

namespace hr::coll {

namespace shared {
class Segment;
}
class Hosts;

// Selects one of a communicator's sequences of operations. Each has its own memory, so that an operation never waits
// for operations of the other sequence.
enum class Sequence : std::uint8_t { kBlocking, kNonblocking };

class Members {
 public:
  explicit Members(const comm::Communicator& comm, Sequence sequence = Sequence::kBlocking);
  // Creates a list of some of a communicator's processes, by rank; this process must be among them. `comm` is not an
  // intercommunicator.
  Members(const comm::Communicator& comm, std::vector<int> ranks, Sequence sequence = Sequence::kBlocking);
  ~Members();
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  [[nodiscard]] Sequence sequence() const noexcept { return sequence_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  // Returns this process's index.
  [[nodiscard]] int own() const noexcept { return own_; }
  [[nodiscard]] bool is_inter() const noexcept { return inter_; }
  // Returns the processes to exchange messages with: the members, or the remote group of an intercommunicator.
  [[nodiscard]] comm::ProcList peers() const noexcept { return peers_; }
  [[nodiscard]] int peer_proc(int peer) const noexcept { return peers_[peer]; }
  // Returns the source rank in the envelopes of a peer's messages.
  [[nodiscard]] int source(int peer) const noexcept {
    return ranks_.empty() ? peer : ranks_[static_cast<std::size_t>(peer)];
  }
  [[nodiscard]] int own_source() const noexcept { return ranks_.empty() ? own_ : source(own_); }

  [[nodiscard]] std::uint32_t context() const noexcept { return comm_.collective_context(); }
  // Returns the context of the messages with which members agree on shared memory.
  [[nodiscard]] std::uint32_t shared_memory_context() const noexcept {
    return comm_.context() + comm::kSharedMemoryContext;
  }
  [[nodiscard]] const comm::Topology& topology() const noexcept { return *comm_.topology_; }

  // True if there are several members, all on one host, that may share memory.
  [[nodiscard]] bool can_share() const noexcept { return can_share_; }
  // True if the jobs of all members have the same settings for collective operations.
  [[nodiscard]] bool alike() const noexcept { return alike_; }
  // Returns the shared segment if the operation with this tag is to be enqueued in its sequence. Null for the first few
  // operations (knob coll_shared_after), and if there is no segment.
  [[nodiscard]] shared::Segment* segment_at(int tag) const noexcept;
  // Returns the distribution of the members over hosts, if compositions can use it: there are several hosts, and
  // several members on one of them. Otherwise null.
  [[nodiscard]] const Hosts* hosts() const;

  // Return the number of hosts of the members, and the largest number of members on one host.
  [[nodiscard]] int host_count() const;
  [[nodiscard]] int ranks_per_host() const;

  [[nodiscard]] Plans& plans() const noexcept { return plans_; }

 private:
  void find_out();

  const comm::Communicator& comm_;
  std::vector<int> ranks_;  // ranks of the members; empty if they are all processes of the communicator
  std::vector<int> procs_;
  comm::ProcList peers_;
  int size_;
  int own_;
  bool inter_;
  Sequence sequence_;
  bool together_ = true;  // true if all members are on one host
  bool can_share_ = false;
  bool alike_ = true;
  mutable bool spread_;  // true if the members may be split by host; false once hosts() is known to be null
  int shared_from_;      // the first tag with a segment
  std::unique_ptr<shared::Segment> segment_;
  mutable std::unique_ptr<Hosts> hosts_;
  mutable Plans plans_;
};

namespace detail {
// State of coll/ that a communicator keeps.
struct Kept final : comm::CollectiveState {
  explicit Kept(const comm::Communicator& comm) : members(comm) {}
  Members members;
  std::unique_ptr<Members> nonblocking;
};
[[nodiscard]] const Members& find_members(comm::Communicator& comm, Sequence sequence);
}  // namespace detail

// Returns the members of the communicator; created on first use.
[[nodiscard]] inline const Members& members_of(comm::Communicator& comm, Sequence sequence = Sequence::kBlocking) {
  if (comm.collectives_ == nullptr || sequence != Sequence::kBlocking) return detail::find_members(comm, sequence);
  return static_cast<const detail::Kept&>(*comm.collectives_).members;
}

}  // namespace hr::coll
