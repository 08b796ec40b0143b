// Atomic updates of memory of a window: the target's part of MPI_Accumulate and its siblings, on whichever process does
// it (MPI 5.0 section 12.3.4: element by element, atomic towards other accumulates with the same type).
//
// An element of 1, 2, 4 or 8 bytes at its natural alignment, in memory that the CPU reaches, is updated by the
// processor's atomic operations, whatever the operation is. All other elements (pairs, long double, complex double,
// unaligned ones, memory of a device) are updated under the target's `accumulate` word. The choice depends on the
// element alone, so that all updates of an element exclude each other. Threads: any that may touch the memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>

#include "layout/op.hpp"
#include "layout/view.hpp"
#include "rma/exclusion.hpp"

namespace hr::rma {

// target = operand op target. `operand`: as many bytes as target.packed, packed, host memory; null for MPI_NO_OP.
// `before`, if not null: gets the packed form of the previous contents. `element`: type of the elements of both. `op`
// is predefined and defined for it.
Status update(const layout::View& target, const layout::Op& op, const layout::Datatype& element,
              const std::byte* operand, std::byte* before, const Exclusion& exclusion);

// Replaces one aligned word of memory that the CPU reaches by `operand` if it equals `compare`.
template <class Word>
void swap_word(std::byte* target, const void* operand, const void* compare, void* before,
               const Exclusion& exclusion) noexcept {
  const ShortUpdate update_of_one(exclusion);
  Word wanted;
  Word expected;
  std::memcpy(&wanted, operand, sizeof wanted);
  std::memcpy(&expected, compare, sizeof expected);
  std::atomic_ref(*reinterpret_cast<Word*>(target))
      .compare_exchange_strong(expected, wanted, std::memory_order_acq_rel, std::memory_order_acquire);
  std::memcpy(before, &expected, sizeof expected);
}

// Replaces one element of at most 16 bytes by `operand` if it equals `compare`.
Status compare_and_swap(const layout::View& target, const std::byte* operand, const std::byte* compare,
                        std::byte* before, const Exclusion& exclusion);

}  // namespace hr::rma
