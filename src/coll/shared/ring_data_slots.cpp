#include "coll/shared/ring_data_slots.hpp"

namespace hr::coll::shared {
namespace {

class RingRounds : public PartRounds {
 public:
  explicit RingRounds(const Call& call) noexcept
      : PartRounds(call, typed_capacity(call.segment->data_slot_bytes(), *contribution(call).type)),
        size_(call.size()) {}

  // Returns the elements of a part where they are combined.
  [[nodiscard]] View combined(int part, std::uint64_t round) const noexcept {
    return piece_in_data_slot(part, 0, part, round);
  }
  // True once the result of a part is complete: the last process has added to it.
  [[nodiscard]] StepReached complete(int part, std::uint64_t round) const noexcept {
    return rounds().written((part + size_ - 1) % size_, steps(round + 1, 0));
  }
  // Returns the value of `published` after a process has added to `added` parts in a round.
  [[nodiscard]] std::uint64_t steps(std::uint64_t round, int added) const noexcept {
    return round * static_cast<std::uint64_t>(size_) + static_cast<std::uint64_t>(added);
  }

 private:
  int size_;
};

// Adds this process's elements of a round to all parts.
Task add_to_parts(const Call& call, const RingRounds& ring, std::uint64_t round) {
  const int size = call.size();
  const int rank = call.rank();
  const Rounds& rounds = ring.rounds();
  const View& vector = contribution(call);
  Rounds::Writable writable = rounds.writable(round);
  HR_CO_UNTIL(call, writable);
  HR_CO_TRY(layout::copy(ring.piece(vector, rank, round), ring.combined(rank, round)));
  rounds.wrote(ring.steps(round, 1));
  for (int distance = 1; distance < size; ++distance) {
    const int part = (rank - distance + size) % size;
    StepReached before = rounds.written((rank - 1 + size) % size, ring.steps(round, distance));
    HR_CO_UNTIL(call, before);
    const View own = ring.piece(vector, part, round);
    if (own.count > 0) HR_CO_TRY(combine(call, own, ring.combined(part, round)));
    rounds.wrote(ring.steps(round, distance + 1));
  }
  co_return kOk;
}

}  // namespace

Task reduce_along_ring(const Call& call, bool takes) {
  const RingRounds ring(call);
  const Rounds& rounds = ring.rounds();
  for (std::uint64_t round = 0; round < rounds.count(); ++round) {
    Task adding = add_to_parts(call, ring, round);
    HR_CO_TRY(co_await adding);
    for (int distance = 1; takes && distance <= call.size(); ++distance) {
      const int part = (call.rank() + distance) % call.size();
      StepReached complete = ring.complete(part, round);
      HR_CO_UNTIL(call, complete);
      HR_CO_TRY(layout::copy(ring.combined(part, round), ring.piece(call.recv.all(), part, round)));
    }
    rounds.took(round + 1);
  }
  co_return kOk;
}

}  // namespace hr::coll::shared
