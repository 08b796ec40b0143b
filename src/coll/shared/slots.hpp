// Rounds through slots: how operations go on whose data does not fit a cell.
//
// In round k a process writes its piece into its slot k mod kSlots (Writable), tells it, and takes the pieces of others
// once they are there (Written). So everybody is at work at once, a few rounds apart at most, and the memory in use
// stays in the caches. Owner: a local of the coroutine; every member constructs one. Threads: library lock.
#pragma once

#include "coll/messages.hpp"
#include "coll/shared/steps.hpp"

namespace hr::coll::shared {

class Rounds {
 public:
  // `piece`: bytes of a slot that are used; up to Area::slot_bytes().
  Rounds(const Call& call, std::size_t piece) noexcept
      : steps_(call), earlier_(call.area->claim_slots(call.ticket)), piece_(piece) {}

  [[nodiscard]] std::size_t piece() const noexcept { return piece_; }
  // Rounds that `bytes` bytes take.
  [[nodiscard]] std::uint64_t count(std::size_t bytes) const noexcept { return (bytes + piece_ - 1) / piece_; }
  [[nodiscard]] std::byte* slot(int rank, std::uint64_t round) const noexcept {
    return steps_.area().slots(rank) + round % kSlots * piece_;
  }
  // Of `steps` in all: one a round, or as many as an algorithm needs.
  void wrote(std::uint64_t steps) const noexcept { steps_.tell(&Control::published, steps); }
  void took(std::uint64_t steps) const noexcept { steps_.tell(&Control::consumed, steps); }

  // What a member says to the others: once round 0 is writable and before it tells its first step.
  void set_note(std::uint64_t note) const noexcept {
    steps_.area().control(steps_.area().rank()).published.note = note;
  }
  [[nodiscard]] std::uint64_t note(int rank) const noexcept { return steps_.area().control(rank).published.note; }

  // Nobody needs what the slot of this round held before.
  struct Writable {
    const Rounds& rounds;
    std::uint64_t round;
    StepsReached taken;
    bool operator()() noexcept {
      if (round < kSlots) return rounds.steps_.area().all_finished(rounds.earlier_);
      return taken();
    }
  };
  // `took`: the steps that all have told to have taken by then; by default one a round.
  [[nodiscard]] Writable writable(std::uint64_t round, std::uint64_t steps_a_round = 1) const noexcept {
    const std::uint64_t reused = round < kSlots ? 0 : (round - kSlots + 1) * steps_a_round;
    return {*this, round, {steps_, &Control::consumed, reused}};
  }
  // A member has told so many steps.
  [[nodiscard]] StepReached written(int rank, std::uint64_t steps) const noexcept {
    return {steps_, &Control::published, rank, steps};
  }

 private:
  Steps steps_;
  std::uint64_t earlier_;
  std::size_t piece_;
};

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
