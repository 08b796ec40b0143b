// Reductions of long vectors along a ring of slots: part p of a round lies in a slot of rank p, which writes its own
// elements there; the processes after it add theirs one after the other, until the one before it has made the result.
//
// So every element of a contribution is read once, where the program has it, and what is combined fits the cores'
// caches: a slot for each process, where VectorRounds writes whole vectors before it reads them. The price is that each
// addition waits for the one before it: as long as parts are short and processes share cores, which makes every wait a
// turn of others, VectorRounds takes less time.
//
// A slot has several writers here, one after the other: each has seen the step of the one before it.
#pragma once

#include "coll/shared/reduce_slots.hpp"

namespace hr::coll::shared {

[[nodiscard]] inline bool parts_pass_slots(const Query& query) noexcept {
  return has_slots(query) && query.commutative && query.element <= query.slot;
}

class RingRounds : public PartRounds {
 public:
  explicit RingRounds(const Call& call) noexcept
      : PartRounds(call, typed_capacity(call.area->slot_bytes(), *contribution(call).type)), size_(call.size()) {}

  // The elements of a part, where they are combined.
  [[nodiscard]] View combined(int part, std::uint64_t round) const noexcept {
    return piece_in_slot(part, 0, part, round);
  }
  // The result of a part is there: the last one has added to it.
  [[nodiscard]] StepReached complete(int part, std::uint64_t round) const noexcept {
    return rounds().written((part + size_ - 1) % size_, steps(round + 1, 0));
  }
  // `published` when a process has added to so many parts in a round.
  [[nodiscard]] std::uint64_t steps(std::uint64_t round, int added) const noexcept {
    return round * static_cast<std::uint64_t>(size_) + static_cast<std::uint64_t>(added);
  }

 private:
  int size_;
};

// This process's elements of a round are added to all parts.
[[nodiscard]] Task add_to_parts(const Call& call, const RingRounds& ring, std::uint64_t round);

}  // namespace hr::coll::shared
