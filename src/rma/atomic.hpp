// Atomic updates of window memory: the target's part of MPI_Accumulate and similar calls, executed by the origin or the
// target (MPI 5.0 section 12.3.4: element by element, atomic with respect to other accumulates of the same type).
//
// An element of 1, 2, 4 or 8 bytes at its natural alignment, in memory that the CPU can access, is updated with the
// processor's atomic instructions, whatever the operation. All other elements (pairs, long double, complex double,
// unaligned ones, those in device memory) are updated while the target's `accumulate` word is held. The choice depends
// only on the element, so that all updates of an element exclude each other. Threads: any that may access the memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>

#include "layout/op.hpp"
#include "layout/view.hpp"
#include "rma/exclusion.hpp"

namespace hr::rma {

// Computes target = operand op target. `operand`: packed form, target.packed bytes long, in host memory; null for
// MPI_NO_OP. `before`: if not null, receives the packed form of the previous contents. `element`: type of the elements
// of the target and the operand. `op` must be predefined, and defined for that type.
Status update(const layout::View& target, const layout::Op& op, const layout::Datatype& element,
              const std::byte* operand, std::byte* before, const Exclusion& exclusion);

// Replaces the aligned word at `target` with `operand` if it equals `compare`; stores the previous value in `before`.
// The CPU must be able to access the word.
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

// Replaces one element of at most 16 bytes with `operand` if it equals `compare`; stores the previous value in
// `before`.
Status compare_and_swap(const layout::View& target, const std::byte* operand, const std::byte* compare,
                        std::byte* before, const Exclusion& exclusion);

}  // namespace hr::rma
