#include "rma/atomic.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "coll/view_tools.hpp"
#include "rma/segments.hpp"

namespace hr::rma {

using layout::Datatype;
using layout::Op;
using layout::OpKind;
using layout::View;

namespace {

constexpr std::size_t kMostElement = 16;  // bytes, for compare_and_swap()

bool is_word(const Datatype& element) noexcept {
  const Count size = element.size();
  return element.is_contiguous() && element.extent() == size && (size == 1 || size == 2 || size == 4 || size == 8);
}

bool is_aligned(const std::byte* address, std::size_t bytes) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

template <class Word>
constexpr std::size_t kBatch = 2048 / sizeof(Word);

// Combines up to kBatch words with `op`: computes the results from the current values, and recomputes them if the
// values have changed meanwhile.
template <class Word>
Status combine_batch(Word* target, const Op& op, const Datatype& element, const Word* operand, Word* before,
                     std::size_t count) {
  Word seen[kBatch<Word>];
  Word result[kBatch<Word>];
  for (std::size_t i = 0; i < count; ++i) seen[i] = std::atomic_ref(target[i]).load(std::memory_order_relaxed);
  HR_TRY(layout::apply_to(op, operand, seen, result, static_cast<Count>(count), element));
  for (std::size_t i = 0; i < count; ++i) {
    std::atomic_ref word(target[i]);
    while (!word.compare_exchange_strong(seen[i], result[i], std::memory_order_acq_rel, std::memory_order_relaxed))
      HR_TRY(layout::apply_to(op, operand + i, seen + i, result + i, 1, element));
    before[i] = seen[i];
  }
  return kOk;
}

template <class Word>
Status update_batch(Word* target, const Op& op, const Datatype& element, const Word* operand, Word* before,
                    std::size_t count) {
  switch (op.kind()) {
    case OpKind::kNoOp:
      for (std::size_t i = 0; i < count; ++i) before[i] = std::atomic_ref(target[i]).load(std::memory_order_acquire);
      return kOk;
    case OpKind::kReplace:
      for (std::size_t i = 0; i < count; ++i)
        before[i] = std::atomic_ref(target[i]).exchange(operand[i], std::memory_order_acq_rel);
      return kOk;
    default:
      return combine_batch(target, op, element, operand, before, count);
  }
}

// True for a sum of integers of 4 or 8 bytes, which a single instruction can update.
template <class Word>
bool adds(const Op& op, const Datatype& element) noexcept {
  using layout::Basic;
  if (op.kind() != OpKind::kSum) return false;
  const Basic basic = element.basic();
  if constexpr (sizeof(Word) == 8) return basic == Basic::kInt64 || basic == Basic::kUint64;
  if constexpr (sizeof(Word) == 4) return basic == Basic::kInt32 || basic == Basic::kUint32;
  return false;
}

template <class Word>
Status update_words(std::byte* target, std::size_t bytes, const Op& op, const Datatype& element,
                    const std::byte* operand, std::byte* before) {
  auto* const words = reinterpret_cast<Word*>(target);
  const std::size_t count = bytes / sizeof(Word);
  if (count == 1 && adds<Word>(op, element)) {
    Word value;
    std::memcpy(&value, operand, sizeof value);
    value = std::atomic_ref(*words).fetch_add(value, std::memory_order_acq_rel);
    if (before != nullptr) std::memcpy(before, &value, sizeof value);
    return kOk;
  }
  Word in[kBatch<Word>];
  Word out[kBatch<Word>];
  for (std::size_t done = 0; done < count; done += kBatch<Word>) {
    const std::size_t now = std::min(count - done, kBatch<Word>);
    const std::size_t at = done * sizeof(Word);
    if (operand != nullptr) std::memcpy(in, operand + at, now * sizeof(Word));
    HR_TRY(update_batch(words + done, op, element, in, out, now));
    if (before != nullptr) std::memcpy(before + at, out, now * sizeof(Word));
  }
  return kOk;
}

Status update_segment_atomically(std::byte* target, std::size_t bytes, const Op& op, const Datatype& element,
                                 const std::byte* operand, std::byte* before) {
  switch (element.size()) {
    case 1:
      return update_words<std::uint8_t>(target, bytes, op, element, operand, before);
    case 2:
      return update_words<std::uint16_t>(target, bytes, op, element, operand, before);
    case 4:
      return update_words<std::uint32_t>(target, bytes, op, element, operand, before);
    default:
      return update_words<std::uint64_t>(target, bytes, op, element, operand, before);
  }
}

// Updates a segment with plain stores, while all other updates are excluded.
Status update_segment_plainly(std::byte* target, std::size_t bytes, const Op& op, const Datatype& element,
                              const std::byte* operand, std::byte* before) {
  if (before != nullptr) std::memcpy(before, target, bytes);
  if (op.kind() == OpKind::kNoOp) return kOk;
  if (op.kind() == OpKind::kReplace) {
    std::memmove(target, operand, bytes);
    return kOk;
  }
  const auto count = static_cast<Count>(bytes) / element.size();
  if (is_aligned(operand, static_cast<std::size_t>(element.size())))
    return layout::apply_to(op, operand, target, target, count, element);
  alignas(16) std::byte piece[8192];
  for (std::size_t done = 0; done < bytes; done += sizeof piece) {
    const std::size_t now = std::min(bytes - done, sizeof piece);
    std::memcpy(piece, operand + done, now);
    HR_TRY(
        layout::apply_to(op, piece, target + done, target + done, static_cast<Count>(now) / element.size(), element));
  }
  return kOk;
}

Status update_segment(std::byte* target, std::size_t bytes, const Op& op, const Datatype& element,
                      const std::byte* operand, std::byte* before, const Exclusion& exclusion) {
  if (exclusion.alone()) return update_segment_plainly(target, bytes, op, element, operand, before);
  const ShortUpdate update(exclusion);
  return update_segment_atomically(target, bytes, op, element, operand, before);
}

// Updates copies of the elements and writes them back, while all other updates are excluded.
Status update_locked(const View& target, const Op& op, const Datatype& element, const std::byte* operand,
                     std::byte* before, const Exclusion& exclusion) {
  const auto count = static_cast<Count>(target.packed) / element.size();
  const coll::TypedScratch there(count, element);
  const coll::TypedScratch given(count, element);
  if (operand != nullptr) HR_TRY(layout::unpack(given.view(), 0, target.packed, operand));
  const LockedUpdate lock(exclusion);
  HR_TRY(layout::copy(target, there.view()));
  if (before != nullptr) HR_TRY(layout::pack(there.view(), 0, target.packed, before));
  if (op.kind() == OpKind::kNoOp) return kOk;
  if (op.kind() == OpKind::kReplace) return layout::copy(given.view(), target);
  HR_TRY(layout::apply_to(op, given.view().address, there.view().address, there.view().address, count, element));
  return layout::copy(there.view(), target);
}

// Returns a segment of elements as a separate view.
View view_of_segment(std::byte* address, std::size_t bytes, const Datatype& element, const mem::Location& where) {
  View view;
  view.address = address;
  view.count = static_cast<Count>(bytes) / element.size();
  view.type = &element;
  view.packed = bytes;
  view.contiguous = true;
  view.where = where;
  return view;
}

}  // namespace

Status update(const View& target, const Op& op, const Datatype& element, const std::byte* operand, std::byte* before,
              const Exclusion& exclusion) {
  if (target.packed == 0) return kOk;
  if (op.kind() == OpKind::kNoOp && before == nullptr) return kOk;
  if (!is_word(element) || !target.where.is_host()) {
    return update_locked(target, op, element, operand, before, exclusion);
  }
  const auto size = static_cast<std::size_t>(element.size());
  const VectorUpdate vector(exclusion, target.packed == size ? 0 : target.packed);
  const Exclusion left = vector.alone() ? Exclusion{} : exclusion;
  std::size_t done = 0;
  return for_each_segment(target, [&](std::byte* address, std::size_t bytes) {
    const std::byte* const in = operand == nullptr ? nullptr : operand + done;
    std::byte* const out = before == nullptr ? nullptr : before + done;
    done += bytes;
    if (is_aligned(address, size)) return update_segment(address, bytes, op, element, in, out, left);
    return update_locked(view_of_segment(address, bytes, element, target.where), op, element, in, out, left);
  });
}

Status compare_and_swap(const View& target, const std::byte* operand, const std::byte* compare, std::byte* before,
                        const Exclusion& exclusion) {
  const std::size_t bytes = target.packed;
  if (target.where.is_host() && is_word(*target.type) && is_aligned(target.data(), bytes)) {
    switch (bytes) {
      case 1:
        swap_word<std::uint8_t>(target.data(), operand, compare, before, exclusion);
        return kOk;
      case 2:
        swap_word<std::uint16_t>(target.data(), operand, compare, before, exclusion);
        return kOk;
      case 4:
        swap_word<std::uint32_t>(target.data(), operand, compare, before, exclusion);
        return kOk;
      default:
        swap_word<std::uint64_t>(target.data(), operand, compare, before, exclusion);
        return kOk;
    }
  }
  std::byte there[kMostElement];
  if (bytes > sizeof there) return fail(Errc::kType, "MPI_Compare_and_swap of an element of %zu bytes", bytes);
  const LockedUpdate lock(exclusion);
  HR_TRY(layout::pack(target, 0, bytes, there));
  const bool equal = std::memcmp(there, compare, bytes) == 0;
  if (equal) HR_TRY(layout::unpack(target, 0, bytes, operand));
  std::memcpy(before, there, bytes);
  return kOk;
}

}  // namespace hr::rma
