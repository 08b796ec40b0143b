// Reductions of long vectors through data slots: the vector is divided into a part for each process. A round handles
// some elements of every part: either each process writes its vector and combines all elements of its own part
// (VectorRounds), or the parts pass from process to process, and each process adds its elements (ring_data_slots.hpp).
//
// Operands are combined in the order of ring_reduce(), which begins part i with the operand of rank i.
#pragma once

#include <algorithm>

#include "coll/reduction.hpp"
#include "coll/shared/data_slots.hpp"

namespace hr::coll::shared {

// Returns each process's share of a data slot, in bytes.
[[nodiscard]] constexpr std::size_t share_of_data_slot(std::size_t data_slot, int ranks) noexcept {
  return data_slot / static_cast<std::size_t>(ranks) / kPair * kPair;
}

[[nodiscard]] inline bool vector_fits_data_slots(const Query& query) noexcept {
  return has_wide_data_slots(query) && query.commutative &&
         query.element <= share_of_data_slot(query.data_slot_bytes, query.ranks);
}

// The vector in parts; a round moves `elements` elements of each.
class PartRounds {
 public:
  PartRounds(const Call& call, Count elements) noexcept
      : vector_(contribution(call)),
        cut_{vector_.count, call.size()},
        elements_(elements),
        rounds_(call, static_cast<std::uint64_t>((cut_.begin(1) + elements - 1) / elements)) {}

  [[nodiscard]] const Rounds& rounds() const noexcept { return rounds_; }

  // Returns the elements of a part of a vector that the round moves.
  [[nodiscard]] View piece(const View& vector, int part, std::uint64_t round) const noexcept {
    const Count begin = cut_.begin(part) + static_cast<Count>(round) * elements_;
    const Count end = cut_.begin(part + 1);
    return slice(vector, begin < end ? begin : end, begin < end ? std::min(elements_, end - begin) : 0);
  }

 protected:
  // Returns a view of as many elements as the piece has, in a data slot, `offset` bytes from its start.
  [[nodiscard]] View piece_in_data_slot(int owner, std::size_t offset, int part, std::uint64_t round) const noexcept {
    return typed_view(rounds_.data_slot(owner, round) + offset, piece(vector_, part, round).count, *vector_.type);
  }

 private:
  const View& vector_;
  Cut cut_;
  Count elements_;
  Rounds rounds_;
};

class VectorRounds : public PartRounds {
 public:
  explicit VectorRounds(const Call& call) noexcept
      : VectorRounds(call, share_of_data_slot(call.segment->data_slot_bytes(), call.size())) {}

  // Returns the elements of a part in the data slot of a process.
  [[nodiscard]] View in_data_slot(int owner, int part, std::uint64_t round) const noexcept {
    return piece_in_data_slot(owner, static_cast<std::size_t>(part) * share_, part, round);
  }
  // Copies this process's elements of all other processes' parts into its data slot.
  [[nodiscard]] Status write(std::uint64_t round) const {
    for (int part = 0; part < call_.size(); ++part) {
      if (part == call_.rank()) continue;
      HR_TRY(layout::copy(piece(contribution(call_), part, round), in_data_slot(call_.rank(), part, round)));
    }
    return kOk;
  }

 private:
  VectorRounds(const Call& call, std::size_t share) noexcept
      : PartRounds(call, typed_capacity(share, *contribution(call).type)), call_(call), share_(share) {}

  const Call& call_;
  std::size_t share_;
};

}  // namespace hr::coll::shared
