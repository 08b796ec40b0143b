// Area: memory that the processes of a communicator share when all of them are on one node, for collectives.
//
// Two parts, each a file of its own that is made when the first collective wants it and that has no name any more by
// the time it is used:
//   cells   control words and kCells cells a process; a short operation's data travels in a cell together with the
//           flag that says it is there, so that 48 bytes cost one cache line
//   slots   kSlots a process, of knob coll_shared_bytes together, through which longer operations go in rounds
//   (slots.hpp)
// Every word and every byte has one writer, its process.
//
// Order. Every collective that might use the area draws a ticket when it is called; tickets are the same on all members
// because members call collectives in the same order (section 6.14). A process carries out its operations one after
// the other, in the order of tickets; the next one, a pending non-blocking one too, waits for its turn. Nothing else
// is synchronised: one member may be several operations ahead of another. `finished` tells how many operations a
// member is through with; whoever overwrites memory that others read in operation t waits until all are through with
// t. Cells go round, so that a writer looks at that only once in a while.
// Tickets go up for ever and nothing is cleared. Memory order: data, then its flag (release); flag (acquire), then
// data.
//
// All members take the same decisions: what is open or failed was agreed upon, and an operation chooses its algorithm
// once its turn has come.
//
// Owner: the communicator. Threads: library lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/shared_file.hpp"
#include "coll/algorithm.hpp"
#include "comm/communicator.hpp"
#include "p2p/task.hpp"

namespace hr::coll::device {
class Members;
}

namespace hr::coll::shared {

inline constexpr std::size_t kLine = 64;
inline constexpr std::size_t kPair = 128;  // lines come in pairs: the neighbour is fetched along
inline constexpr std::size_t kCellBytes = 16384;
inline constexpr std::size_t kInlineBytes = 48;
inline constexpr std::uint64_t kCells = 8;
inline constexpr std::uint64_t kSlots = 8;

struct alignas(kPair) Cell {
  std::atomic<std::uint64_t> sequence;  // ticket + 1 of the operation that the data belongs to
  std::uint64_t bytes;
  std::byte line[kInlineBytes];  // up to this much data lies here, more in `room`
  std::byte room[kCellBytes];

  [[nodiscard]] std::byte* data(std::size_t length) noexcept { return length <= kInlineBytes ? line : room; }
  [[nodiscard]] std::byte* data() noexcept { return data(bytes); }
};

struct alignas(kPair) Word {
  std::atomic<std::uint64_t> value;
  std::uint64_t notes[kSlots];  // slots.hpp
};

// What one process tells the others.
struct Control {
  Word finished;   // operations it is through with
  Word published;  // steps of an operation that others can go on from (slots.hpp)
  Word consumed;   // steps of others that it needs no more
  // Device collectives (device/members.hpp).
  Word device_done;     // ticket + 1 of the last operation that its GPU is done with
  Word device_trial;    // 1: it can map everybody's memory, 2: it cannot
  Word devices_wanted;  // of rank 0, written by anyone: 1
  Word devices_from;    // of rank 0: the first ticket of device mode; 0: not yet
};

class Area {
 public:
  explicit Area(const comm::Communicator& comm);
  ~Area();

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  // --- order ---
  std::uint64_t draw_ticket() noexcept { return tickets_++; }
  [[nodiscard]] bool is_turn(std::uint64_t ticket) const noexcept { return ticket == turn_; }
  // The operation whose turn it is, is over on this process.
  void leave() noexcept {
    ++turn_;
    if (blocks_ != nullptr) control(rank_).finished.value.store(turn_, std::memory_order_release);
  }
  // Everybody is through with `count` operations; remembered.
  [[nodiscard]] bool all_finished(std::uint64_t count) noexcept { return known_finished_ >= count || look(count); }
  // Every member was seen in operation `ticket`, hence is through with all before.
  void seen_everybody(std::uint64_t ticket) noexcept {
    if (known_finished_ < ticket) known_finished_ = ticket;
  }
  // How often to look at a flag before making progress.
  [[nodiscard]] unsigned looks() const noexcept { return looks_; }

  // --- device mode (device/members.hpp) ---
  // This process passes device memory. Cells are open.
  void want_devices() noexcept {
    if (control(0).devices_wanted.value.load(std::memory_order_relaxed) == 0) [[unlikely]]
      control(0).devices_wanted.value.store(1, std::memory_order_relaxed);
  }
  // Called by everyone in its turn of an operation that nobody leaves before rank 0 has entered it (`synchronizes`).
  // Rank 0 then lets the mode begin with the next operation: what it writes here happens before anyone's end of this
  // one. True when this operation is in device mode.
  bool device_mode(std::uint64_t ticket, bool synchronizes) noexcept {
    std::atomic<std::uint64_t>& from = control(0).devices_from.value;
    const std::uint64_t first = from.load(std::memory_order_acquire);
    if (first != 0) [[unlikely]]
      return ticket >= first;
    if (rank_ == 0 && synchronizes && control(0).devices_wanted.value.load(std::memory_order_relaxed) != 0) [[unlikely]]
      from.store(ticket + 1, std::memory_order_release);
    return false;
  }
  [[nodiscard]] device::Members& members() noexcept;

  // --- parts. Sharing: what there is, or, as long as it was not tried, might be ---
  [[nodiscard]] Sharing sharing() const noexcept { return sharing_; }
  [[nodiscard]] bool is_open(Sharing part) const noexcept {
    if (part == Sharing::kNone) return true;
    return part == Sharing::kCells ? blocks_ != nullptr : slots_ != nullptr;
  }
  // Makes or joins a part; all members at the same ticket. Success does not mean that there is one: sharing().
  p2p::Task open(Sharing part);

  // Processes outnumber the cores of the node: agreed upon when the cells were opened.
  [[nodiscard]] bool crowded() const noexcept { return crowded_; }

  // --- cells ---
  [[nodiscard]] Control& control(int rank) const noexcept { return blocks_[rank].control; }
  [[nodiscard]] Cell& cell(int rank, std::uint64_t ticket) const noexcept {
    return blocks_[rank].cells[ticket % kCells];
  }
  // --- slots ---
  // Slot `turn` mod kSlots of a process.
  [[nodiscard]] std::byte* slot(int rank, std::uint64_t turn) const noexcept {
    return slots_ + (static_cast<std::size_t>(rank) * kSlots + turn % kSlots) * slot_bytes_;
  }
  [[nodiscard]] std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  // Slots are used in turns that all members count alike. The first of the `turns` turns of an operation; users[i]
  // becomes the number of operations that must be over everywhere before its i-th turn may overwrite the slot.
  std::uint64_t claim_slots(std::uint64_t ticket, std::uint64_t turns, std::uint64_t (&users)[kSlots]) noexcept {
    for (std::uint64_t i = 0; i < kSlots; ++i) {
      std::uint64_t& user = slot_users_[(slot_turns_ + i) % kSlots];
      users[i] = user;
      if (i < turns) user = ticket + 1;
    }
    return std::exchange(slot_turns_, slot_turns_ + turns);
  }
  // Numbers the operations that count steps (steps.hpp).
  std::uint64_t next_steps() noexcept { return ++steps_; }
  // Processes can read one another's memory, and that is faster than slots: agreed upon when the slots were opened.
  [[nodiscard]] bool readable() const noexcept { return readable_; }

 private:
  struct Block {
    Control control;
    Cell cells[kCells];
  };

  bool look(std::uint64_t count) noexcept;
  [[nodiscard]] SharedFile& file_of(Sharing part) noexcept { return part == Sharing::kCells ? cell_file_ : slot_file_; }
  [[nodiscard]] std::size_t bytes_of(Sharing part) const noexcept;

  const comm::Communicator& comm_;
  int rank_;
  int size_;
  unsigned looks_;
  std::uint64_t tickets_ = 0;
  std::uint64_t turn_ = 0;
  std::uint64_t known_finished_ = 0;
  std::uint64_t slot_turns_ = 0;
  std::uint64_t slot_users_[kSlots] = {};
  std::uint64_t steps_ = 0;
  std::size_t slot_bytes_;
  Sharing sharing_ = Sharing::kSlots;
  bool crowded_ = false;
  bool readable_ = false;
  Block* blocks_ = nullptr;
  std::byte* slots_ = nullptr;
  SharedFile cell_file_;
  SharedFile slot_file_;
  std::unique_ptr<device::Members> members_;  // made at first use
};

// The communicator's area when this operation is to have a place in its sequence: nullptr for communicators of one
// process, of several nodes or of two groups, for their first few collectives (knob coll_shared_after), for persistent
// operations (which may be started in any order) and where the knob coll_shared_bytes is 0.
[[nodiscard]] Area* area_for(const Call& call);

}  // namespace hr::coll::shared
