// Segment: memory that the processes of a communicator share for collectives if all of them are on one node.
//
// It has two parts. Each is a separate file that is created when a collective first needs it, and whose name is removed
// before it is used:
//   flag lines  control words, and kFlagLineSets flag line sets per process. The data of a short operation travels in
//           the line of the flag that announces it, so that 48 bytes cost one cache line, or in the space next to it;
//           further flags serve later steps of the same operation (partials.hpp)
//   data slots  several per process, of knob coll_shared_bytes together, through which longer operations move their
//           data in rounds (data_slots.hpp). If processes share cores, there are fewer and longer slots, because each
//           round costs every process a turn on a core. If the members are few (kFewMembers) and each has its own
//           core, there are four times as many slots on processors where that pays (base/machine.hpp): lines leave
//           their readers' second-level caches before they are written again.
// Every word and every byte has one writer, its process, with two exceptions. Data slots through which a ring of
// processes passes partial results (ring_data_slots.hpp) have several writers in turn. If two members exchange data,
// their flag line sets and data slots change hands at every reuse: each member writes where it read the time before
// (holder()), because those cache lines are already in its core's cache (ADR 16).
//
// Order. Every collective that might use the segment takes a sequence number when it is called. The numbers are the
// same on all members, because members call collectives in the same order (section 6.14). The blocking and the
// non-blocking operations of a communicator have separate segments (Sequence), because some programs do not keep the
// order between the two. A process executes its operations one at a time, in the order of their sequence numbers;
// each waits for its turn. There is no other synchronisation: one member may be several operations ahead of another.
// `finished` counts the operations that a member has finished; a process that overwrites memory that others read in
// operation n first waits until all have finished n. Flag line sets are used in rotation, so a writer rarely has to
// check that. Sequence numbers only increase, and nothing is ever cleared.
// Memory order: a writer stores the data, then its flag (release); a reader loads the flag (acquire), then the data.
//
// All members make the same decisions: they agree on the parts that are open or have failed, and an operation chooses
// its algorithm only when its turn has come.
//
// A persistent operation has its own segment, if any, in which each start takes a sequence number, because processes
// may start different requests in different orders (persistence.hpp).
//
// Owner: the Members, or the persistent request. Threads: library lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/buffered.hpp"
#include "base/cache_hints.hpp"
#include "base/shared_file.hpp"
#include "coll/algorithm.hpp"
#include "coll/members.hpp"
#include "p2p/task.hpp"

namespace hr::coll::device {
class DeviceBuffers;
}

namespace hr::coll::shared {

inline constexpr std::size_t kPair = 2 * kCacheLine;  // lines are fetched in pairs, with their neighbours
inline constexpr std::size_t kRoomBytes = 16384;
inline constexpr std::size_t kInlineBytes = 48;
inline constexpr std::uint64_t kFlagLineSets = 8;
inline constexpr int kPartials = 9;
// Numbers of data slots per process, in this order: if at most kFewMembers members each have their own core, on AMD
// processors; in the usual case; if processes share cores.
inline constexpr std::uint64_t kDataSlots = 32;
inline constexpr std::uint64_t kDataSlotsUsual = 8;
inline constexpr std::uint64_t kDataSlotsOversubscribed = 4;
inline constexpr int kFewMembers = 4;

struct alignas(kCacheLine) FlagLine {
  std::atomic<std::uint64_t> sequence;  // the flag: sequence number + 1 of the operation that the data belongs to
  std::uint64_t bytes;
  std::byte data[kInlineBytes];  // data of up to this length; longer data is in FlagLines::room
};

// A flag line set: the flag lines of one process for one operation, and space for its data.
struct alignas(kPair) FlagLines {
  FlagLine head;
  std::byte room[kRoomBytes];
  FlagLine partials[kPartials];

  // Returns the flag line of step 0 (the head) or of a later step (partials.hpp).
  [[nodiscard]] FlagLine& line(int step) noexcept { return step == 0 ? head : partials[step - 1]; }
  // Returns where data of that length is stored.
  [[nodiscard]] std::byte* data(std::size_t length) noexcept { return length <= kInlineBytes ? head.data : room; }
};

struct alignas(kPair) Word {
  std::atomic<std::uint64_t> value;
  std::uint64_t notes[kDataSlots];    // data_slots.hpp
  std::atomic<std::uint64_t> device;  // in device_trial: locality of the device that the process used last; 0: none
};

// Words in which a process publishes its progress for the others.
struct Control {
  Word finished;   // number of operations that the process has finished
  Word published;  // steps of an operation that others may read (data_slots.hpp)
  Word consumed;   // steps of others whose data the process no longer needs
  // Device collectives (device/buffers.hpp).
  Word device_done;       // outcome of the last operation that the process's GPU has finished (device/buffers.cpp)
  Word device_trial;      // outcome of the process's last attempt to map all members' memory (device/buffers.cpp)
  Word address_exchange;  // rank 0 only: see address_exchange.cpp
  Word device_polled;     // sequence number + 1 of the last operation in which the process read address_exchange
};

class Segment {
 public:
  // `tag`: base tag of the messages with which members open parts and agree. A multiple of kTags, the same on all
  // members, and different from the tag of any other segment that two of the members share.
  static constexpr int kTags = 4;
  explicit Segment(const Members& members, int tag = 0);
  ~Segment();

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  // --- Order ---
  std::uint64_t take_sequence_number() noexcept { return next_sequence_number_++; }
  [[nodiscard]] bool is_turn_of(std::uint64_t sequence_number) const noexcept { return sequence_number == turn_; }
  // Ends an operation's turn on this process, unless it has ended already. An algorithm may call this as soon as it
  // has read all that it needs from the segment, so that its messages do not delay later operations.
  void end_turn(std::uint64_t sequence_number) noexcept {
    if (!is_turn_of(sequence_number)) return;
    ++turn_;
    if (blocks_ != nullptr) control(rank_).finished.value.store(turn_, std::memory_order_release);
  }
  // True if all members have finished `count` operations; the answer is remembered.
  [[nodiscard]] bool all_finished(std::uint64_t count) noexcept { return known_finished_ >= count || look(count); }
  // Records that every member has arrived at that operation, and so has finished all earlier ones.
  void note_all_arrived(std::uint64_t sequence_number) noexcept {
    if (known_finished_ < sequence_number) known_finished_ = sequence_number;
  }
  // Returns how often to check a flag before making progress.
  [[nodiscard]] unsigned looks() const noexcept { return looks_; }

  // --- Exchange of device addresses (device/buffers.hpp, address_exchange.cpp). Flag lines must be open ---
  // Requests the exchange: this process passes device memory.
  void request_address_exchange() noexcept;
  [[nodiscard]] bool address_exchange_requested() const noexcept {
    return control(0).address_exchange.value.load(std::memory_order_acquire) != 0;
  }
  // True if the operation begins with an exchange. Must be called by all members in the turn of every operation; the
  // answer is the same on all, and for repeated calls.
  bool begins_with_address_exchange(std::uint64_t sequence_number) noexcept {
    if (!address_exchange_requested()) [[likely]]
      return false;
    return decide_address_exchange(sequence_number);
  }
  [[nodiscard]] device::DeviceBuffers& device_buffers() noexcept;

  // --- Parts. sharing(): the parts that are available or, if not tried yet, might be ---
  [[nodiscard]] Sharing sharing() const noexcept { return sharing_; }
  [[nodiscard]] bool is_open(Sharing part) const noexcept {
    if (part == Sharing::kNone) return true;
    return part == Sharing::kFlagLines ? blocks_ != nullptr : data_slots_ != nullptr;
  }
  // Creates or joins a part; must be called by all members in the same turn. Success does not mean that the part
  // exists: see sharing().
  p2p::Task open(Sharing part);
  // Reduces facts over all members, with messages. *facts: receives the bits that all members have set.
  p2p::Task agree(std::uint64_t* facts);

  // True if processes outnumber the node's cores, as agreed when the flag lines were opened.
  [[nodiscard]] bool oversubscribed() const noexcept { return oversubscribed_; }

  // If flag lines and data slots of two members change hands: returns the member whose memory `rank` writes in this use
  // (`lap`: number of earlier uses).
  [[nodiscard]] static int holder(int rank, std::uint64_t lap) noexcept { return (lap & 1) == 0 ? rank : 1 - rank; }

  // --- Flag lines ---
  [[nodiscard]] Control& control(int rank) const noexcept { return blocks_[rank].control; }
  // Returns a flag line set. `swaps`: true if the flag lines of this operation change hands.
  [[nodiscard]] FlagLines& flag_lines(int rank, std::uint64_t sequence_number, bool swaps) const noexcept {
    return blocks_[swaps ? holder(rank, sequence_number / kFlagLineSets) : rank]
        .flag_lines[sequence_number % kFlagLineSets];
  }
  // --- Data slots ---
  [[nodiscard]] std::uint64_t data_slot_count() const noexcept { return data_slot_count_; }
  // Returns data slot `index` mod data_slot_count() of a process.
  [[nodiscard]] std::byte* data_slot(int rank, std::uint64_t index) const noexcept {
    return data_slots_ +
           (static_cast<std::size_t>(rank) * data_slot_count_ + index % data_slot_count_) * data_slot_bytes_;
  }
  [[nodiscard]] std::size_t data_slot_bytes() const noexcept { return data_slot_bytes_; }
  // Claims `rounds` rounds of data slots for an operation, and returns the first one; all members count rounds in the
  // same way. users[i]: receives the number of operations that all members must have finished before round i of this
  // operation may overwrite its data slot.
  std::uint64_t claim_data_slots(std::uint64_t sequence_number, std::uint64_t rounds,
                                 std::uint64_t (&users)[kDataSlots]) noexcept {
    for (std::uint64_t i = 0; i < data_slot_count_; ++i) {
      std::uint64_t& user = data_slot_users_[(next_round_ + i) % data_slot_count_];
      users[i] = user;
      if (i < rounds) user = sequence_number + 1;
    }
    return std::exchange(next_round_, next_round_ + rounds);
  }
  // Returns a number for the next operation that counts steps (steps.hpp).
  std::uint64_t next_steps() noexcept { return ++steps_; }

 private:
  struct Block {
    Control control;
    FlagLines flag_lines[kFlagLineSets];
  };

  bool look(std::uint64_t count) noexcept;
  void cut_data_slots(std::uint64_t count) noexcept;
  bool decide_address_exchange(std::uint64_t sequence_number) noexcept;
  bool latest_polled(std::uint64_t* index) const noexcept;
  [[nodiscard]] SharedFile& file_of(Sharing part) noexcept {
    return part == Sharing::kFlagLines ? flag_file_ : data_file_;
  }
  [[nodiscard]] std::size_t bytes_of(Sharing part) const noexcept;

  const Members& members_;
  int tag_;
  int rank_;
  int size_;
  unsigned looks_;
  std::uint64_t next_sequence_number_ = 0;
  std::uint64_t turn_ = 0;
  std::uint64_t known_finished_ = 0;
  std::uint64_t next_round_ = 0;
  std::uint64_t data_slot_users_[kDataSlots] = {};
  std::uint64_t steps_ = 0;
  std::uint64_t data_slot_count_ = kDataSlots;
  std::size_t data_slot_bytes_;
  Sharing sharing_ = Sharing::kDataSlots;
  bool oversubscribed_ = false;
  Block* blocks_ = nullptr;
  std::byte* data_slots_ = nullptr;
  Buffered buffered_{counters::Buffers::kCollectives};
  SharedFile flag_file_;
  SharedFile data_file_;
  std::unique_ptr<device::DeviceBuffers> device_buffers_;  // made at first use
};

// True if flag lines and data slots change hands: there are two members, and in this operation each of them writes and
// reads.
[[nodiscard]] inline bool swaps(const Call& call) noexcept {
  constexpr std::uint32_t kExchanges =
      serves(Operation::kAllgather, Operation::kAllgatherv, Operation::kAlltoall, Operation::kAlltoallv,
             Operation::kAlltoallw, Operation::kAllreduce, Operation::kReduceScatter, Operation::kReduceScatterBlock);
  return call.segment->size() == 2 && (kExchanges & serves(call.operation)) != 0;
}

}  // namespace hr::coll::shared

namespace hr::coll {

inline shared::Segment* Members::segment_at(int tag) const noexcept {
  return tag >= shared_from_ && segment_->sharing() != Sharing::kNone ? segment_.get() : nullptr;
}

namespace shared {

// Returns the members' segment if this operation is to be enqueued in its sequence; otherwise null. Null for persistent
// operations, because they may be started in any order.
[[nodiscard]] inline Segment* segment_for(const Call& call) noexcept {
  return call.persistent ? nullptr : call.members->segment_at(call.tag);
}

}  // namespace shared
}  // namespace hr::coll
