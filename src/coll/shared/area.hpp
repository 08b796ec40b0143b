// Area: memory that the processes of a communicator share when all of them are on one node, for collectives.
//
// Two parts, each a file of its own that is made when the first collective wants it and that has no name any more by
// the time it is used:
//   cells   control words and kCells cells for each process; a short operation's data travels in a cell together with
//           the flag that says it is there, so that 48 bytes cost one cache line; further flags are for what a process
//           has to say later in the same operation (partials.hpp)
//   slots   several for each process, of knob coll_shared_bytes together, through which longer operations go in rounds
//           (slots.hpp). Where processes share cores there are fewer and longer ones: each round is a turn of every
//           process. Few members with a core each have four times as many on processors where that pays
//           (base/machine.hpp): lines leave their readers' second-level caches before they are written again.
// Every word has one writer, its process, and so has every byte, with two exceptions: slots through which a ring of
// processes passes partial results (ring_slots.hpp) have several writers, one after the other; and two members that
// exchange data each write, every other time that cells and slots come round, to those of the other one, which they
// have read the time before (holder()): their lines are here already (ADR 16).
//
// Order. Every collective that might use the area draws a ticket when it is called; tickets are the same on all members
// because members call collectives in the same order (section 6.14). Blocking and non-blocking operations of a
// communicator have an area each (Sequence), as some programs do not keep the order between the two. A process carries
// out its operations one after the other, in the order of tickets; the next one waits for its turn. Nothing else is
// synchronised: one member may be several operations ahead of another. `finished` counts the operations that a member
// is through with; a process that overwrites memory that others read in operation t waits until all are through with t.
// Cells go round, so that a writer looks at that only once in a while. Tickets go up for ever and nothing is cleared.
// Memory order: data, then its flag (release); flag (acquire), then data.
//
// All members take the same decisions: they agree upon the parts that are open or failed, and an operation chooses its
// algorithm once its turn has come.
//
// A persistent operation whose buffers all are on devices has an area of its own, in which its starts draw the tickets:
// starts of different requests may come in different orders on different processes.
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
inline constexpr std::size_t kCellBytes = 16384;
inline constexpr std::size_t kInlineBytes = 48;
inline constexpr std::uint64_t kCells = 8;
inline constexpr int kPartials = 7;
// Slots of a process: for few members with a core each, on AMD processors; usually; where processes share cores.
inline constexpr std::uint64_t kSlots = 32;
inline constexpr std::uint64_t kSlotsUsual = 8;
inline constexpr std::uint64_t kSlotsOversubscribed = 4;
inline constexpr int kFewMembers = 4;

struct alignas(kCacheLine) Line {
  std::atomic<std::uint64_t> sequence;  // ticket + 1 of the operation that the data belongs to
  std::uint64_t bytes;
  std::byte data[kInlineBytes];  // up to this much data lies here, more in the cell's room
};

struct alignas(kPair) Cell {
  Line head;
  std::byte room[kCellBytes];
  Line partials[kPartials];

  // Flag, and the place beside it, of step 0 (the head) or of a later one (partials.hpp).
  [[nodiscard]] Line& line(int step) noexcept { return step == 0 ? head : partials[step - 1]; }
  // Place of data of that length.
  [[nodiscard]] std::byte* data(std::size_t length) noexcept { return length <= kInlineBytes ? head.data : room; }
};

struct alignas(kPair) Word {
  std::atomic<std::uint64_t> value;
  std::uint64_t notes[kSlots];  // slots.hpp
};

// Words by which one process tells the others how far it is.
struct Control {
  Word finished;   // operations it is through with
  Word published;  // steps of an operation that others can go on from (slots.hpp)
  Word consumed;   // steps of others that it no longer needs
  // Device collectives (device/buffers.hpp).
  Word device_done;       // ticket + 1 of the last operation that its GPU is done with
  Word device_trial;      // outcome of the last trial to map all members' memory (device/buffers.cpp)
  Word address_exchange;  // of rank 0: address_exchange.cpp
  Word device_polled;     // ticket + 1 of the last operation in which it read that word; 0: before it was wanted
};

class Area {
 public:
  // `tag`: of the messages by which members open parts and agree; the same on all, of no other area that two of them
  // share, a multiple of kTags.
  static constexpr int kTags = 4;
  explicit Area(const Members& members, int tag = 0);
  ~Area();

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  // --- order ---
  std::uint64_t draw_ticket() noexcept { return tickets_++; }
  [[nodiscard]] bool is_serving(std::uint64_t ticket) const noexcept { return ticket == now_serving_; }
  // Ends the operation whose ticket is served, on this process.
  void leave() noexcept {
    ++now_serving_;
    if (blocks_ != nullptr) control(rank_).finished.value.store(now_serving_, std::memory_order_release);
  }
  // True if all are through with `count` operations; remembered.
  [[nodiscard]] bool all_finished(std::uint64_t count) noexcept { return known_finished_ >= count || look(count); }
  // Notes that every member was seen in operation `ticket`, hence is through with all before.
  void note_all_arrived(std::uint64_t ticket) noexcept {
    if (known_finished_ < ticket) known_finished_ = ticket;
  }
  // Number of looks at a flag before making progress.
  [[nodiscard]] unsigned looks() const noexcept { return looks_; }

  // --- exchange of device addresses (device/buffers.hpp; its beginning: address_exchange.cpp). Cells are open ---
  // Says that this process passes device memory.
  void request_address_exchange() noexcept;
  [[nodiscard]] bool address_exchange_requested() const noexcept {
    return control(0).address_exchange.value.load(std::memory_order_acquire) != 0;
  }
  // Called by all members while the ticket of every operation is served; the same answer for all, also when asked
  // again.
  bool begins_with_address_exchange(std::uint64_t ticket) noexcept {
    if (!address_exchange_requested()) [[likely]]
      return false;
    return decide_address_exchange(ticket);
  }
  [[nodiscard]] device::DeviceBuffers& device_buffers() noexcept;

  // --- parts. Sharing: parts that there are or, as long as that was not tried, might be ---
  [[nodiscard]] Sharing sharing() const noexcept { return sharing_; }
  [[nodiscard]] bool is_open(Sharing part) const noexcept {
    if (part == Sharing::kNone) return true;
    return part == Sharing::kCells ? blocks_ != nullptr : slots_ != nullptr;
  }
  // Makes or joins a part; all members at the same ticket. Success does not mean that it exists: see sharing().
  p2p::Task open(Sharing part);
  // *facts: becomes the bits that all members have set; by messages.
  p2p::Task agree(std::uint64_t* facts);

  // True if processes outnumber the cores of the node: agreed upon when the cells were opened.
  [[nodiscard]] bool oversubscribed() const noexcept { return oversubscribed_; }

  // Returns which of two members, between which cells and slots change hands, has those of `rank` this time round.
  [[nodiscard]] static int holder(int rank, std::uint64_t lap) noexcept { return (lap & 1) == 0 ? rank : 1 - rank; }

  // --- cells ---
  [[nodiscard]] Control& control(int rank) const noexcept { return blocks_[rank].control; }
  // `swaps`: the cells of this operation change hands.
  [[nodiscard]] Cell& cell(int rank, std::uint64_t ticket, bool swaps) const noexcept {
    return blocks_[swaps ? holder(rank, ticket / kCells) : rank].cells[ticket % kCells];
  }
  // --- slots ---
  [[nodiscard]] std::uint64_t slot_count() const noexcept { return slot_count_; }
  // Returns slot `index` mod slot_count() of a process.
  [[nodiscard]] std::byte* slot(int rank, std::uint64_t index) const noexcept {
    return slots_ + (static_cast<std::size_t>(rank) * slot_count_ + index % slot_count_) * slot_bytes_;
  }
  [[nodiscard]] std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  // Slots are used in rounds that all members count alike. Returns the first of the `rounds` rounds of an operation.
  // users[i]: becomes the number of operations that must be over everywhere before its i-th round may overwrite the
  // slot.
  std::uint64_t claim_slots(std::uint64_t ticket, std::uint64_t rounds, std::uint64_t (&users)[kSlots]) noexcept {
    for (std::uint64_t i = 0; i < slot_count_; ++i) {
      std::uint64_t& user = slot_users_[(next_slot_round_ + i) % slot_count_];
      users[i] = user;
      if (i < rounds) user = ticket + 1;
    }
    return std::exchange(next_slot_round_, next_slot_round_ + rounds);
  }
  // Numbers the operations that count steps (steps.hpp).
  std::uint64_t next_steps() noexcept { return ++steps_; }

 private:
  struct Block {
    Control control;
    Cell cells[kCells];
  };

  bool look(std::uint64_t count) noexcept;
  void cut_slots(std::uint64_t count) noexcept;
  bool decide_address_exchange(std::uint64_t ticket) noexcept;
  bool latest_polled(std::uint64_t* index) const noexcept;
  [[nodiscard]] SharedFile& file_of(Sharing part) noexcept { return part == Sharing::kCells ? cell_file_ : slot_file_; }
  [[nodiscard]] std::size_t bytes_of(Sharing part) const noexcept;

  const Members& members_;
  int tag_;
  int rank_;
  int size_;
  unsigned looks_;
  std::uint64_t tickets_ = 0;
  std::uint64_t now_serving_ = 0;
  std::uint64_t known_finished_ = 0;
  std::uint64_t next_slot_round_ = 0;
  std::uint64_t slot_users_[kSlots] = {};
  std::uint64_t steps_ = 0;
  std::uint64_t slot_count_ = kSlots;
  std::size_t slot_bytes_;
  Sharing sharing_ = Sharing::kSlots;
  bool oversubscribed_ = false;
  Block* blocks_ = nullptr;
  std::byte* slots_ = nullptr;
  SharedFile cell_file_;
  SharedFile slot_file_;
  std::unique_ptr<device::DeviceBuffers> device_buffers_;  // made at first use
};

// True for two members, each of which writes and reads in this operation: their cells and slots change hands.
[[nodiscard]] inline bool swaps(const Call& call) noexcept {
  constexpr std::uint32_t kExchanges =
      serves(Operation::kAllgather, Operation::kAllgatherv, Operation::kAlltoall, Operation::kAlltoallv,
             Operation::kAlltoallw, Operation::kAllreduce, Operation::kReduceScatter, Operation::kReduceScatterBlock);
  return call.area->size() == 2 && (kExchanges & serves(call.operation)) != 0;
}

}  // namespace hr::coll::shared

namespace hr::coll {

inline shared::Area* Members::area_at(int tag) const noexcept {
  return tag >= shared_from_ && area_->sharing() != Sharing::kNone ? area_.get() : nullptr;
}

namespace shared {

// Returns the members' area if this operation is to have a place in its sequence: also null for persistent operations,
// which may be started in any order.
[[nodiscard]] inline Area* area_for(const Call& call) noexcept {
  return call.persistent ? nullptr : call.members->area_at(call.tag);
}

}  // namespace shared
}  // namespace hr::coll
