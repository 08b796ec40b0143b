// Segment: memory that the processes of a communicator share when all of them are on one node, for collectives.
//
// Two parts, each a file of its own that is made when the first collective wants it and that has no name any more by
// the time it is used:
//   flag lines  control words, and kFlagLineSets sets of flag lines for each process; a short operation's data travels
//           in the line of the flag that says it is there, so that 48 bytes cost one cache line, or in the room beside
//           it; further flags are for what a process has to say later in the same operation (partials.hpp)
//   data slots  several for each process, of knob coll_shared_bytes together, through which longer operations go in
//           rounds (data_slots.hpp). Where processes share cores there are fewer and longer ones: each round is a turn
//           of every process. Few members with a core each have four times as many on processors where that pays
//           (base/machine.hpp): lines leave their readers' second-level caches before they are written again.
// Every word has one writer, its process, and so has every byte, with two exceptions: data slots through which a ring
// of processes passes partial results (ring_data_slots.hpp) have several writers, one after the other; and two members
// that exchange data each write, every other time that flag lines and data slots come round, to those of the other one,
// which they have read the time before (holder()): their lines are here already (ADR 16).
//
// Order. Every collective that might use the segment takes a sequence number when it is called; the numbers are the
// same on all members because members call collectives in the same order (section 6.14). Blocking and non-blocking
// operations of a communicator have a segment each (Sequence), as some programs do not keep the order between the two.
// A process executes its operations one after the other, in the order of their sequence numbers; the next one waits for
// its turn. Nothing else is synchronised: one member may be several operations ahead of another. `finished` counts the
// operations that a member is through with; a process that overwrites memory that others read in operation n waits
// until all are through with n. Sets of flag lines go round, so that a writer looks at that only once in a while.
// Sequence numbers go up for ever and nothing is cleared.
// Memory order: data, then its flag (release); flag (acquire), then data.
//
// All members take the same decisions: they agree upon the parts that are open or failed, and an operation chooses its
// algorithm once its turn has come.
//
// A persistent operation whose buffers all are on devices has a segment of its own, in which its starts take the
// sequence numbers: starts of different requests may come in different orders on different processes.
//
// Owner: the Members, or the persistent request. Threads: library lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/cache_hints.hpp"
#include "base/shared_file.hpp"
#include "coll/algorithm.hpp"
#include "coll/members.hpp"
#include "p2p/task.hpp"

namespace hr::coll::device {
class DeviceBuffers;
}

namespace hr::coll::shared {

inline constexpr std::size_t kPair = 2 * kCacheLine;  // lines come in pairs: the neighbour is fetched along
inline constexpr std::size_t kRoomBytes = 16384;
inline constexpr std::size_t kInlineBytes = 48;
inline constexpr std::uint64_t kFlagLineSets = 8;
inline constexpr int kPartials = 7;
// Data slots of a process: for few members with a core each, on AMD processors; usually; where processes share cores.
inline constexpr std::uint64_t kDataSlots = 32;
inline constexpr std::uint64_t kDataSlotsUsual = 8;
inline constexpr std::uint64_t kDataSlotsOversubscribed = 4;
inline constexpr int kFewMembers = 4;

struct alignas(kCacheLine) FlagLine {
  std::atomic<std::uint64_t> sequence;  // the flag: sequence number + 1 of the operation that the data belongs to
  std::uint64_t bytes;
  std::byte data[kInlineBytes];  // up to this much data lies here, more in the room of the flag lines
};

// A set of flag lines: those of one process for one operation, and room for its data.
struct alignas(kPair) FlagLines {
  FlagLine head;
  std::byte room[kRoomBytes];
  FlagLine partials[kPartials];

  // Returns the flag, and the data beside it, of step 0 (the head) or of a later one (partials.hpp).
  [[nodiscard]] FlagLine& line(int step) noexcept { return step == 0 ? head : partials[step - 1]; }
  // Returns where data of that length lies.
  [[nodiscard]] std::byte* data(std::size_t length) noexcept { return length <= kInlineBytes ? head.data : room; }
};

struct alignas(kPair) Word {
  std::atomic<std::uint64_t> value;
  std::uint64_t notes[kDataSlots];  // data_slots.hpp
};

// Words by which one process tells the others how far it is.
struct Control {
  Word finished;   // operations it is through with
  Word published;  // steps of an operation that others can go on from (data_slots.hpp)
  Word consumed;   // steps of others that it no longer needs
  // Device collectives (device/buffers.hpp).
  Word device_done;       // sequence number + 1 of the last operation that its GPU is done with
  Word device_trial;      // outcome of the last trial to map all members' memory (device/buffers.cpp)
  Word address_exchange;  // of rank 0: address_exchange.cpp
  Word device_polled;     // sequence number + 1 of the last operation in which it read that word; 0: not wanted yet
};

class Segment {
 public:
  // `tag`: of the messages by which members open parts and agree; the same on all, of no other segment that two of
  // them share, a multiple of kTags.
  static constexpr int kTags = 4;
  explicit Segment(const Members& members, int tag = 0);
  ~Segment();

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  // --- order ---
  std::uint64_t take_sequence_number() noexcept { return next_sequence_number_++; }
  [[nodiscard]] bool is_turn_of(std::uint64_t sequence_number) const noexcept { return sequence_number == turn_; }
  // Ends the operation whose turn it is, on this process.
  void end_turn() noexcept {
    ++turn_;
    if (blocks_ != nullptr) control(rank_).finished.value.store(turn_, std::memory_order_release);
  }
  // True if all are through with `count` operations; remembered.
  [[nodiscard]] bool all_finished(std::uint64_t count) noexcept { return known_finished_ >= count || look(count); }
  // Notes that every member was seen in that operation, hence is through with all before.
  void note_all_arrived(std::uint64_t sequence_number) noexcept {
    if (known_finished_ < sequence_number) known_finished_ = sequence_number;
  }
  // Number of looks at a flag before making progress.
  [[nodiscard]] unsigned looks() const noexcept { return looks_; }

  // --- exchange of device addresses (device/buffers.hpp; its beginning: address_exchange.cpp). Flag lines are
  // open ---
  // Says that this process passes device memory.
  void request_address_exchange() noexcept;
  [[nodiscard]] bool address_exchange_requested() const noexcept {
    return control(0).address_exchange.value.load(std::memory_order_acquire) != 0;
  }
  // Called by all members in the turn of every operation; the same answer for all, also when asked again.
  bool begins_with_address_exchange(std::uint64_t sequence_number) noexcept {
    if (!address_exchange_requested()) [[likely]]
      return false;
    return decide_address_exchange(sequence_number);
  }
  [[nodiscard]] device::DeviceBuffers& device_buffers() noexcept;

  // --- parts. Sharing: parts that there are or, as long as that was not tried, might be ---
  [[nodiscard]] Sharing sharing() const noexcept { return sharing_; }
  [[nodiscard]] bool is_open(Sharing part) const noexcept {
    if (part == Sharing::kNone) return true;
    return part == Sharing::kFlagLines ? blocks_ != nullptr : data_slots_ != nullptr;
  }
  // Makes or joins a part; all members in the same turn. Success does not mean that it exists: see sharing().
  p2p::Task open(Sharing part);
  // *facts: becomes the bits that all members have set; by messages.
  p2p::Task agree(std::uint64_t* facts);

  // True if processes outnumber the cores of the node: agreed upon when the flag lines were opened.
  [[nodiscard]] bool oversubscribed() const noexcept { return oversubscribed_; }

  // Returns which of two members, between which flag lines and data slots change hands, has those of `rank` this time
  // round.
  [[nodiscard]] static int holder(int rank, std::uint64_t lap) noexcept { return (lap & 1) == 0 ? rank : 1 - rank; }

  // --- flag lines ---
  [[nodiscard]] Control& control(int rank) const noexcept { return blocks_[rank].control; }
  // `swaps`: the flag lines of this operation change hands.
  [[nodiscard]] FlagLines& flag_lines(int rank, std::uint64_t sequence_number, bool swaps) const noexcept {
    return blocks_[swaps ? holder(rank, sequence_number / kFlagLineSets) : rank]
        .flag_lines[sequence_number % kFlagLineSets];
  }
  // --- data slots ---
  [[nodiscard]] std::uint64_t data_slot_count() const noexcept { return data_slot_count_; }
  // Returns data slot `index` mod data_slot_count() of a process.
  [[nodiscard]] std::byte* data_slot(int rank, std::uint64_t index) const noexcept {
    return data_slots_ +
           (static_cast<std::size_t>(rank) * data_slot_count_ + index % data_slot_count_) * data_slot_bytes_;
  }
  [[nodiscard]] std::size_t data_slot_bytes() const noexcept { return data_slot_bytes_; }
  // Data slots are used in rounds that all members count alike. Returns the first of the `rounds` rounds of an
  // operation. users[i]: becomes the number of operations that must be over everywhere before its i-th round may
  // overwrite the data slot.
  std::uint64_t claim_data_slots(std::uint64_t sequence_number, std::uint64_t rounds,
                                 std::uint64_t (&users)[kDataSlots]) noexcept {
    for (std::uint64_t i = 0; i < data_slot_count_; ++i) {
      std::uint64_t& user = data_slot_users_[(next_round_ + i) % data_slot_count_];
      users[i] = user;
      if (i < rounds) user = sequence_number + 1;
    }
    return std::exchange(next_round_, next_round_ + rounds);
  }
  // Numbers the operations that count steps (steps.hpp).
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
  SharedFile flag_file_;
  SharedFile data_file_;
  std::unique_ptr<device::DeviceBuffers> device_buffers_;  // made at first use
};

// True for two members, each of which writes and reads in this operation: their flag lines and data slots change hands.
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

// Returns the members' segment if this operation is to be enqueued in its sequence. Null for persistent operations,
// too, which may be started in any order.
[[nodiscard]] inline Segment* segment_for(const Call& call) noexcept {
  return call.persistent ? nullptr : call.members->segment_at(call.tag);
}

}  // namespace shared
}  // namespace hr::coll
