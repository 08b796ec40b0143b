// Communicator: a group (or two), a context, and data that programs attach (MPI 5.0 chapter 7).
//
// Contexts: every communicator owns kContextSpacing consecutive contexts, so that messages of different uses (enum
// ContextUse) never match. Allocation is an agreement among the members (comm/context.hpp).
// Owner: reference counted; a pending operation holds a reference, so MPI_Comm_free may be called earlier. The context
// is released with the last reference. Threads: library lock; rank, size, context and groups never change.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/attributes.hpp"
#include "base/object.hpp"
#include "comm/errhandler.hpp"
#include "comm/group.hpp"
#include "comm/info.hpp"
#include "comm/topology.hpp"

namespace hr::p2p {
class BufferPool;
class Channel;
}  // namespace hr::p2p

namespace hr::comm {

// Uses of the contexts of one communicator, as offsets from context().
enum ContextUse : std::uint32_t {
  kPointToPointContext = 0,
  kCollectiveContext = 1,       // coll/; on an intercommunicator, between the groups
  kLocalCollectiveContext = 2,  // coll/; within the local group of an intercommunicator
  kCreationContext = 3,         // agreements of all members, tagged by Communicator::creations_
  kCreateGroupContext = 4,      // MPI_Comm_create_group, tagged by the program
  kLeaderContext = 5,        // MPI_Intercomm_create between leaders on their peer communicator, tagged by the program
  kSharedMemoryContext = 6,  // agreements of all members on memory that they share (coll/)
  kPartitionedContext = 7,   // parts of partitioned messages
  kSurvivorsContext = 8,     // creating a communicator of the survivors (shrink.hpp)
  kChannelDataContext = 13,  // data of messages on channels that the engine moves (p2p/counting.hpp)
  kContextSpacing = 16,
};

// Assertions of section 7.4.4 on which the members of a new communicator agree, as bits.
enum Assertion : std::uint32_t {
  kNoAnyTag = 1,
  kNoAnySource = 2,
};

// State of coll/ for a communicator; created by coll/ on the first collective.
class CollectiveState {
 public:
  virtual ~CollectiveState() = default;
};

// The device stream that the program has assigned to a communicator (enqueue/).
class StreamUse {
 public:
  virtual ~StreamUse() = default;
  // Waits, with the library lock released, until the stream has completed all work submitted so far. Errors:
  // MPI_ERR_OTHER, naming the stream, if it is being captured or was destroyed.
  virtual Status synchronize() = 0;
};

// Aligned to a cache line, because threads that use different communicators write to them concurrently
// (channel_operations_).
class alignas(64) Communicator final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kCommunicator;
  Communicator() noexcept : Object(kKind) {}
  ~Communicator();

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return local_->size(); }
  [[nodiscard]] bool is_inter() const noexcept { return static_cast<bool>(remote_); }
  // Returns the group to exchange messages with: the remote group of an intercommunicator, otherwise the local group.
  [[nodiscard]] const Group& peers() const noexcept { return *peers_; }
  [[nodiscard]] int peer_proc(int rank) const noexcept { return peers().proc(rank); }
  [[nodiscard]] std::uint32_t context() const noexcept { return context_; }
  [[nodiscard]] std::uint32_t collective_context() const noexcept { return context_ + kCollectiveContext; }

  // Returns the tag of the next collective operation. Members start collectives in the same order (section 6.14), so an
  // operation has the same tag everywhere, and concurrent operations do not mix.
  [[nodiscard]] int next_collective_tag() noexcept { return static_cast<int>(collective_sequence_++ & 0x1fffffff); }
  // Non-blocking collectives have a separate sequence, because some programs, contrary to section 6.12, start one
  // before a blocking collective on one process and after it on another.
  static constexpr int kFirstNonblockingTag = 0x20000000;
  [[nodiscard]] int next_nonblocking_tag() noexcept {
    return kFirstNonblockingTag + static_cast<int>(nonblocking_sequence_++ & 0x1fffffff);
  }

  // `remote`: null for an intracommunicator.
  void set_groups(Ref<Group> local, Ref<Group> remote) noexcept {
    rank_ = local->rank();
    local_ = std::move(local);
    remote_ = std::move(remote);
    peers_ = remote_ ? remote_.get() : local_.get();
  }

  int rank_ = 0;
  std::uint32_t context_ = 0;    // 0: not agreed yet (while MPI_Comm_idup is pending)
  std::uint32_t creations_ = 0;  // number of collective creations from this communicator; the same on all members
  std::uint32_t collective_sequence_ = 0;
  std::uint32_t nonblocking_sequence_ = 0;
  std::uint32_t agreements_ = 0;      // number of agreements by consensus (consensus.hpp); the same on all members
  std::size_t acknowledged_ = 0;      // number of acknowledged p2p::failed_processes(), counted from the first
                                      // (failure.hpp)
  std::vector<int> excluded_;         // failed processes known to all survivors, in ascending order (shrink.hpp)
  bool has_others_ = false;           // true if the communicator has processes of other jobs (connections.hpp)
  bool disconnects_ = false;          // true if its destruction releases connections
  std::atomic<bool> several_{false};  // true if it uses several channels; written once, under the library lock
  std::uint32_t asserted_ = 0;        // assertions of all members when it was created (enum Assertion)
  std::unique_ptr<CollectiveState> collectives_;  // null before the first collective
  std::unique_ptr<StreamUse> stream_;             // null: it has no stream
  const Group* peers_ = nullptr;                  // local_ or remote_; kept for peers() of short messages
  Ref<Group> local_;
  Ref<Group> remote_;
  Ref<Errhandler> errhandler_;
  std::unique_ptr<Topology> topology_;  // null, Cartesian, graph or distributed graph
  AttributeSet attributes_;
  std::string name_;
  // The channel of its point-to-point messages, once known; null: channel 0 (channel_of()). Both are written once,
  // `channel_` first, under the library lock; neither is written if the communicator uses several channels.
  std::atomic<p2p::Channel*> channel_{nullptr};
  std::atomic<bool> channel_known_{false};
  std::atomic<std::uint32_t> channel_operations_{0};  // operations in progress on the channel; guarded by its lock
  Ref<Info> info_;                                    // hints in use; null: defaults
  std::shared_ptr<p2p::BufferPool> buffer_;           // MPI_Comm_attach_buffer; null: never attached
};

// Returns the channel of the communicator's point-to-point messages (p2p/channel.hpp); null: channel 0, or several
// (Communicator::several_). All members choose the same channel, based on the context's number, the channels that all
// members offer, and their assertions. Predefined communicators, intercommunicators, and communicators over several
// jobs use channel 0. Threads: any.
p2p::Channel* choose_channel(Communicator& comm);
inline p2p::Channel* channel_of(Communicator& comm) {
  if (comm.channel_known_.load(std::memory_order_acquire)) return comm.channel_.load(std::memory_order_relaxed);
  return choose_channel(comm);
}
// Makes a communicator that has had no messages use channel 0. All members must call it. Threads: library lock.
void keep_on_engine(Communicator& comm) noexcept;
// Returns the channel for messages with this tag (not negative) on a communicator that uses several channels. Sets
// *operations to the counter of the communicator's operations on that channel. Threads: any.
p2p::Channel* channel_of(Communicator& comm, int tag, std::atomic<std::uint32_t>** operations);
// Returns the channels that the communicator has used. Threads: library lock.
std::vector<p2p::Channel*> channels_of(const Communicator& comm);
// Called when the communicator is destroyed. Threads: library lock.
void forget_channels(const Communicator& comm) noexcept;
// Returns the counter of the operations in progress on one of the communicator's channels.
std::atomic<std::uint32_t>* operations_on(Communicator& comm, const p2p::Channel& channel);
// True if the communicator uses, or will use, several channels. Threads: library lock.
[[nodiscard]] bool may_use_several_channels(const Communicator& comm);
// Keeps a communicator that the program has freed until its operations on its channel have ended.
void keep_for_channel(Communicator& comm);

// Return the predefined communicators; null before initialisation.
Communicator* world() noexcept;
Communicator* self() noexcept;
// Returns the object behind MPI_COMM_WORLD, MPI_COMM_SELF (ABI values); nullptr for MPI_COMM_NULL, unknown values, and
// before initialisation.
Communicator* predefined_communicator(std::uintptr_t abi_value) noexcept;

// Creates world and self from boot::identity(). Called after boot::init() and p2p::init().
Status init();
// Deletes the attributes of self, newest first, then those of world. Called first in MPI_Finalize, while MPI is still
// fully usable (section 11.2.4). Returns the code of the first callback that fails.
Status delete_predefined_attributes();
// Releases world and self. Called before p2p::finalize().
void finalize();

// Returns MPI_IDENT, MPI_CONGRUENT, MPI_SIMILAR or MPI_UNEQUAL (section 7.4.1).
[[nodiscard]] int compare(const Communicator& a, const Communicator& b);

// MPI_Comm_free: deletes the attributes, then drops the handle's reference. Errors: MPI_ERR_COMM (predefined); the code
// of a failing delete callback, after which the communicator remains valid.
Status free(Communicator& comm);
// MPI_Comm_disconnect: also waits until no operation of this process uses the communicator. If it has processes of
// other jobs, waits until this is true on all of them; they are then no longer connected through it.
Status disconnect(Communicator& comm);

// MPI_Comm_set_info, MPI_Comm_get_info (section 7.4.4): unknown hints are ignored, and so is the withdrawal of an
// assertion that is in use.
void set_info(Communicator& comm, const Info* hints);
// Returns the assertions among the hints of this process (enum Assertion).
[[nodiscard]] std::uint32_t assertions_of(const Communicator& comm);
Ref<Info> get_info(const Communicator& comm);

}  // namespace hr::comm
