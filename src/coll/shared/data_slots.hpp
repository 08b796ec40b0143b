// Rounds through data slots: execute operations whose data does not fit next to a flag line.
//
// In round k a process writes its piece into its next data slot when that is writable(), announces it with wrote(), and
// reads the pieces of others once they are written(). So all processes work concurrently, at most a few rounds apart,
// and the memory in use stays in the caches. Owner: a local of the coroutine; every member constructs one. Threads:
// library lock.
#pragma once

#include <algorithm>

#include "coll/messages.hpp"
#include "coll/shared/steps.hpp"

namespace hr::coll::shared {

class Rounds {
 public:
  // kSwapped: with two members, the data slots change hands (Segment::holder()). Not for data slots with several
  // writers.
  enum class DataSlots : std::uint8_t { kOwn, kSwapped };

  // `piece`: maximum number of bytes that a round writes into a data slot.
  Rounds(const Call& call, std::uint64_t count, std::size_t piece, DataSlots data_slots = DataSlots::kOwn) noexcept
      : steps_(call),
        swaps_(data_slots == DataSlots::kSwapped && swaps(call)),
        count_(count),
        piece_((std::max<std::size_t>(piece, 1) + kPair - 1) / kPair * kPair),
        first_(call.segment->claim_data_slots(call.sequence_number, count, users_)) {}
  Rounds(const Call& call, std::uint64_t count, DataSlots data_slots = DataSlots::kOwn) noexcept
      : Rounds(call, count, call.segment->data_slot_bytes(), data_slots) {}

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::byte* data_slot(int rank, std::uint64_t round) const noexcept {
    const std::uint64_t index = first_ + round;
    if (swaps_)
      return steps_.segment().data_slot(Segment::holder(rank, index / steps_.segment().data_slot_count()), index);
    return steps_.segment().data_slot(rank, index) + offset(index);
  }
  // Publish how many steps this process has written or taken so far: one per round, or as many as the algorithm needs.
  void wrote(std::uint64_t steps) const noexcept { steps_.advance(&Control::published, steps); }
  void took(std::uint64_t steps) const noexcept { steps_.advance(&Control::consumed, steps); }

  // A number that a member passes to the others, next to the data of round 0: set it when that round is writable, read
  // it when that round is written.
  void set_note(std::uint64_t note) const noexcept {
    std::atomic_ref(note_of(steps_.segment().rank())).store(note, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t note(int rank) const noexcept {
    return std::atomic_ref(note_of(rank)).load(std::memory_order_relaxed);
  }

  // True once no member needs the earlier content of this round's data slot.
  struct Writable {
    const Rounds& rounds;
    std::uint64_t round;
    StepsReached taken;
    bool operator()() noexcept {
      if (round < rounds.steps_.segment().data_slot_count())
        return rounds.steps_.segment().all_finished(rounds.users_[round]);
      return taken();
    }
  };
  // `steps_a_round`: number of steps that took() counts per round.
  [[nodiscard]] Writable writable(std::uint64_t round, std::uint64_t steps_a_round = 1) const noexcept {
    const std::uint64_t data_slots = steps_.segment().data_slot_count();
    const std::uint64_t reused = round < data_slots ? 0 : (round - data_slots + 1) * steps_a_round;
    return {*this, round, {steps_, &Control::consumed, reused}};
  }
  // True once a member has announced `steps` steps with wrote().
  [[nodiscard]] StepReached written(int rank, std::uint64_t steps) const noexcept {
    return {steps_, &Control::published, rank, steps};
  }

 private:
  [[nodiscard]] std::uint64_t& note_of(int rank) const noexcept {
    return steps_.segment().control(rank).published.notes[first_ % kDataSlots];
  }

  // Short pieces are at a different offset each time a data slot is used: writing a line that is still in another
  // core's nearest cache takes longer than writing one that has left it.
  [[nodiscard]] std::size_t offset(std::uint64_t index) const noexcept {
    const std::size_t places = steps_.segment().data_slot_bytes() / piece_;
    return places <= 1 ? 0 : index / steps_.segment().data_slot_count() % places * piece_;
  }

  Steps steps_;
  bool swaps_;
  std::uint64_t count_;
  std::size_t piece_;
  std::uint64_t users_[kDataSlots];  // filled in by the initialisation of first_
  std::uint64_t first_;
};

// Returns the number of rounds needed for `total` bytes.
[[nodiscard]] constexpr std::uint64_t rounds_of(std::size_t total, std::size_t piece) noexcept {
  return (total + piece - 1) / piece;
}

// Returns the number of bytes per round for an operation that moves `total` bytes and has space for `most` bytes per
// round: small enough for several rounds, so that one process reads while another writes; but `most` if processes share
// cores, because each round then costs a turn on a core.
[[nodiscard]] inline std::size_t piece_size(const Call& call, std::size_t total, std::size_t most) noexcept {
  constexpr std::size_t kLeast = 4096;
  const std::size_t quarter = total / 4 / kPair * kPair;
  return call.segment->oversubscribed() || quarter >= most ? most : std::min(std::max(quarter, kLeast), most);
}

// Bytes [begin, begin + bytes) of a packed form that a round moves.
struct Piece {
  std::size_t begin;
  std::size_t bytes;
};
[[nodiscard]] inline Piece piece_of(std::size_t total, std::size_t piece, std::uint64_t round) noexcept {
  const std::size_t begin = static_cast<std::size_t>(round) * piece;
  if (begin >= total) return {total, 0};
  return {begin, total - begin < piece ? total - begin : piece};
}

}  // namespace hr::coll::shared
