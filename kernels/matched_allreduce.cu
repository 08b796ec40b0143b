// matched_allreduce: a small reduction among the ranks of one host. One kernel puts a rank's vector into a slot at each
// rank, with one or several blocks per rank, and waits for nothing; another kernel combines the slots. The stream has
// already waited for the other ranks' vectors, or the slots hold lines and the kernel waits for these lines. Two
// generations of slots suffice. A rank that begins reduction n + 2 has ended reduction n + 1, so it has all ranks'
// vectors of n + 1. A rank puts its vector of n + 1 only after it has ended reduction n, and so has read the slots of
// n. Therefore no slot is rewritten before its reader has read it.
#include "coresident.hpp"
#include "matched_allreduce_arguments.hpp"
#include "matched_copy.hpp"
#include "portability.hpp"
#include "reduce_arguments.hpp"
#include "reduce_loops.hpp"
#include "reduce_operations.hpp"

namespace hr::matched_kernels {

// Puts a part of the vector into the slot of one rank, with all threads of the block.
HR_DEVICE void put_part(const kernels::MatchedPut& put, std::uint64_t index) {
  auto* const own = reinterpret_cast<kernels::MatchedWords*>(put.own);
  const std::uint64_t rank = index / put.parts;
  const std::uint32_t number = own->put[index];
  const std::uint64_t slot = put.to[rank] + number % kernels::kMatchedGenerations * put.generation;
  if (put.lines != 0) {
    store_lines(put.from, slot, put.bytes, number + 1, index % put.parts, put.parts);
  } else {
    copy_bytes(put.from, slot, put.bytes);
  }
  finish_copies();
  if (!is_last_thread()) return;
  own->put[index] = number + 1;
  if (put.lines != 0 || put.ready[rank] == 0) return;
  fence();
  add(reinterpret_cast<std::uint32_t*>(put.ready[rank]), 1);
}

}  // namespace hr::matched_kernels

HR_KERNEL(hr_matched_put, (HR_CONSTANT hr::kernels::MatchedPut put)) {
  using namespace hr::matched_kernels;  // NOLINT
  if (look(&reinterpret_cast<hr::kernels::MatchedWords*>(put.own)->released) == 0) put_part(put, blockIdx.x);
}

namespace hr::matched_kernels {

using kernels::MatchedEnd;
using kernels::MatchedWords;

// Access to one element of a vector in lines.
template <class T>
struct InLines {
  static constexpr unsigned kLines = sizeof(T) > 4 ? sizeof(T) / 4 : 1;
  HR_DEVICE std::uint64_t first(std::uint64_t element) { return element * sizeof(T) / 4 * sizeof(std::uint64_t); }
  HR_DEVICE T value(const std::uint64_t* lines, std::uint64_t element) {
    std::uint32_t words[kLines];
    HR_UNROLL
    for (unsigned i = 0; i < kLines; ++i) words[i] = static_cast<std::uint32_t>(lines[i]);
    if constexpr (sizeof(T) < 4) words[0] >>= element * sizeof(T) % 4 * 8;
    T value;
    memcpy(&value, words, sizeof value);
    return value;
  }
};

// Waits for the elements of all ranks, and combines them from left to right. Returns false, in all threads, if the
// request is released meanwhile.
template <class T, class Op>
HR_DEVICE bool combine_lines(const MatchedEnd& end, const Op& op) {
  constexpr unsigned kLines = InLines<T>::kLines, kBatch = 4;  // lines per element; ranks per batch
  const auto* const own = reinterpret_cast<const MatchedWords*>(end.own);
  const std::uint32_t ended = look(&own->ended);
  const std::uint64_t from = end.slots + ended % kernels::kMatchedGenerations * end.generation;
  const auto ranks = static_cast<unsigned>(end.ranks);
  bool over = false;
  HR_NO_UNROLL
  for (std::uint64_t e = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; e < end.count && !over;
       e += std::uint64_t{gridDim.x} * blockDim.x) {
    T value{};
    HR_NO_UNROLL
    for (unsigned rank = 0; rank < ranks && !over; rank += kBatch) {
      std::uint64_t lines[kBatch * kLines];
      const unsigned here = ranks - rank < kBatch ? ranks - rank : kBatch;
      const auto address = [&](unsigned k) {
        return from + (rank + k / kLines) * end.slot + InLines<T>::first(e) + k % kLines * sizeof(std::uint64_t);
      };
      over = !load_lines(lines, here * kLines, address, ended + 1, &own->released, 1);
      HR_UNROLL
      for (unsigned k = 0; k < kBatch; ++k) {
        if (k >= here) continue;
        const T next = InLines<T>::value(lines + k * kLines, e);
        value = rank + k == 0 ? next : op(value, next);
      }
    }
    if (!over) reduce_kernels::Element<T>::store(end.to + e * sizeof(T), value);
  }
  return !in_any_thread(over);
}

// Combines the elements of all slots from left to right. Returns false, in all threads, if the request was released.
template <class T, class Op>
HR_DEVICE bool combine_slots(const MatchedEnd& end, const Op& op) {
  if (end.lines != 0) return combine_lines<T>(end, op);
  using Vectors = reduce_kernels::ByVectors<T>;
  using Elements = reduce_kernels::ByElements<T>;
  constexpr std::uint64_t kPerVector = sizeof(reduce_kernels::Vector) / sizeof(T);
  const auto* const own = reinterpret_cast<const MatchedWords*>(end.own);
  const std::uint64_t from = end.slots + own->ended % kernels::kMatchedGenerations * end.generation;
  const auto ranks = static_cast<unsigned>(end.ranks);
  const std::uint64_t vectors = end.vectors != 0 ? end.count / kPerVector : 0;
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t v = thread; v < vectors; v += step) {
    const std::uint64_t at = v * sizeof(reduce_kernels::Vector);
    Vectors::store(end.to + at, reduce_kernels::combined<Vectors>(
                                    ranks, op, [&](unsigned rank) { return from + rank * end.slot + at; }));
  }
  for (std::uint64_t e = vectors * kPerVector + thread; e < end.count; e += step) {
    const std::uint64_t at = e * sizeof(T);
    Elements::store(end.to + at, reduce_kernels::combined<Elements>(
                                     ranks, op, [&](unsigned rank) { return from + rank * end.slot + at; }));
  }
  return true;
}

template <class T>
HR_DEVICE bool combine_order(const MatchedEnd& end) {
  return end.op == kernels::kReduceMin ? combine_slots<T>(end, reduce_kernels::Min{})
                                       : combine_slots<T>(end, reduce_kernels::Max{});
}

template <class T>
HR_DEVICE bool combine_numbers(const MatchedEnd& end) {
  switch (end.op) {
    case kernels::kReduceSum:
      return combine_slots<T>(end, reduce_kernels::Sum{});
    case kernels::kReduceProd:
      return combine_slots<T>(end, reduce_kernels::Prod{});
    default:
      return combine_order<T>(end);
  }
}

template <class T>
HR_DEVICE bool combine_bits(const MatchedEnd& end) {
  switch (end.op) {
    case kernels::kReduceBand:
      return combine_slots<T>(end, reduce_kernels::Band{});
    case kernels::kReduceBor:
      return combine_slots<T>(end, reduce_kernels::Bor{});
    default:
      return combine_slots<T>(end, reduce_kernels::Bxor{});
  }
}

// Counts the reduction as ended and, unless the slots hold lines, consumes one vector of each other rank in `ready`.
HR_DEVICE void take(const MatchedEnd& end) {
  finish_copies();
  if (!is_last_thread()) return;
  auto* const own = reinterpret_cast<MatchedWords*>(end.own);
  if (gridDim.x > 1) {
    if (count_block(&own->finished) + 1 != gridDim.x) return;
    own->finished = 0;  // the last block: all have read `ended`
  }
  for (unsigned rank = 0; rank < end.ranks && end.lines == 0; ++rank) {
    if (rank != end.rank) add(&own->ready[rank], ~std::uint32_t{0});
  }
  own->ended = own->ended + 1;
}

}  // namespace hr::matched_kernels

#define HR_MATCHED_KERNEL(name, ...)                                                               \
  HR_KERNEL(hr_matched_##name, (HR_CONSTANT hr::kernels::MatchedEnd end)) {                        \
    using hr::matched_kernels::look;                                                               \
    if (look(&reinterpret_cast<const hr::kernels::MatchedWords*>(end.own)->released) != 0) return; \
    if (hr::matched_kernels::__VA_ARGS__(end)) hr::matched_kernels::take(end);                     \
  }                                                                                                \
  HR_CORESIDENT_KERNEL(hr_matched_both_##name, (HR_CONSTANT hr::kernels::MatchedBoth both)) {      \
    using hr::matched_kernels::look;                                                               \
    const hr::kernels::MatchedPut& put = HR_FIRST(both).put;                                       \
    const hr::kernels::MatchedEnd& end = HR_FIRST(both).end;                                       \
    if (look(&reinterpret_cast<const hr::kernels::MatchedWords*>(end.own)->released) != 0) return; \
    HR_NO_UNROLL                                                                                   \
    for (std::uint64_t i = blockIdx.x; i < end.ranks * put.parts; i += gridDim.x)                  \
      hr::matched_kernels::put_part(put, i);                                                       \
    if (hr::matched_kernels::__VA_ARGS__(end)) hr::matched_kernels::take(end);                     \
  }

HR_MATCHED_KERNEL(bits_4, combine_bits<std::uint32_t>)
HR_MATCHED_KERNEL(bits_8, combine_bits<std::uint64_t>)
HR_MATCHED_KERNEL(i32, combine_order<std::int32_t>)
HR_MATCHED_KERNEL(i64, combine_order<std::int64_t>)
HR_MATCHED_KERNEL(u32, combine_numbers<std::uint32_t>)
HR_MATCHED_KERNEL(u64, combine_numbers<std::uint64_t>)
HR_MATCHED_KERNEL(f16, combine_numbers<hr::reduce_kernels::Half>)
HR_MATCHED_KERNEL(bf16, combine_numbers<hr::reduce_kernels::Bfloat16>)
HR_MATCHED_KERNEL(f32, combine_numbers<float>)
HR_MATCHED_KERNEL(f64, combine_numbers<double>)
