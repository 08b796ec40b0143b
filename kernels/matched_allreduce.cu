// matched_allreduce: a small reduction of the ranks of one host. One kernel puts a rank's vector into a slot at each
// rank, a block for each; once the stream has waited for the other ranks' vectors, another one combines the slots. So
// nothing waits here. There are two generations of slots: a rank that begins the reduction after the next one has ended
// the next one, and so has the vectors that all ranks put after they ended this one.
#include "matched_allreduce_arguments.hpp"
#include "matched_copy.hpp"
#include "portability.hpp"
#include "reduce_arguments.hpp"
#include "reduce_loops.hpp"
#include "reduce_operations.hpp"

HR_KERNEL(hr_matched_put, (HR_CONSTANT hr::kernels::MatchedPut put)) {
  using namespace hr::matched_kernels;  // NOLINT
  auto* const own = reinterpret_cast<hr::kernels::MatchedWords*>(put.own);
  if (look(&own->released) != 0) return;
  const std::uint32_t number = own->put[blockIdx.x];
  const std::uint64_t generation = number % hr::kernels::kMatchedGenerations * put.generation;
  copy_bytes(put.from, put.to[blockIdx.x] + generation, put.bytes);
  finish_copies();
  if (!is_last_thread()) return;
  own->put[blockIdx.x] = number + 1;
  if (put.ready[blockIdx.x] == 0) return;
  fence();
  add(reinterpret_cast<std::uint32_t*>(put.ready[blockIdx.x]), 1);
}

namespace hr::matched_kernels {

using kernels::MatchedEnd;
using kernels::MatchedWords;

// The elements of all slots, combined from left to right.
template <class T, class Op>
HR_DEVICE void combine_slots(const MatchedEnd& end, const Op& op) {
  using Vectors = reduce_kernels::ByVectors<T>;
  using Elements = reduce_kernels::ByElements<T>;
  constexpr std::uint64_t kPerVector = sizeof(reduce_kernels::Vector) / sizeof(T);
  const auto* const own = reinterpret_cast<const MatchedWords*>(end.own);
  const std::uint64_t from = end.slots + own->ended % kernels::kMatchedGenerations * end.generation;
  const auto ranks = static_cast<unsigned>(end.ranks);
  const std::uint64_t vectors = end.vectors != 0 ? end.count / kPerVector : 0;
  for (std::uint64_t v = threadIdx.x; v < vectors; v += blockDim.x) {
    const std::uint64_t at = v * sizeof(reduce_kernels::Vector);
    Vectors::store(end.to + at, reduce_kernels::combined<Vectors>(
                                    ranks, op, [&](unsigned rank) { return from + rank * end.slot + at; }));
  }
  for (std::uint64_t e = vectors * kPerVector + threadIdx.x; e < end.count; e += blockDim.x) {
    const std::uint64_t at = e * sizeof(T);
    Elements::store(end.to + at, reduce_kernels::combined<Elements>(
                                     ranks, op, [&](unsigned rank) { return from + rank * end.slot + at; }));
  }
}

template <class T>
HR_DEVICE void combine_order(const MatchedEnd& end) {
  if (end.op == kernels::kReduceMin) {
    combine_slots<T>(end, reduce_kernels::Min{});
  } else {
    combine_slots<T>(end, reduce_kernels::Max{});
  }
}

template <class T>
HR_DEVICE void combine_numbers(const MatchedEnd& end) {
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
HR_DEVICE void combine_bits(const MatchedEnd& end) {
  switch (end.op) {
    case kernels::kReduceBand:
      return combine_slots<T>(end, reduce_kernels::Band{});
    case kernels::kReduceBor:
      return combine_slots<T>(end, reduce_kernels::Bor{});
    default:
      return combine_slots<T>(end, reduce_kernels::Bxor{});
  }
}

// Takes one vector of each other rank from the words.
HR_DEVICE void take(const MatchedEnd& end) {
  finish_copies();
  if (!is_last_thread()) return;
  auto* const own = reinterpret_cast<MatchedWords*>(end.own);
  for (unsigned rank = 0; rank < end.ranks; ++rank) {
    if (rank != end.rank) add(&own->ready[rank], ~std::uint32_t{0});
  }
  own->ended = own->ended + 1;
}

}  // namespace hr::matched_kernels

#define HR_MATCHED_KERNEL(name, ...)                                                               \
  HR_KERNEL(hr_matched_##name, (HR_CONSTANT hr::kernels::MatchedEnd end)) {                        \
    using hr::matched_kernels::look;                                                               \
    if (look(&reinterpret_cast<const hr::kernels::MatchedWords*>(end.own)->released) != 0) return; \
    hr::matched_kernels::__VA_ARGS__(end);                                                         \
    hr::matched_kernels::take(end);                                                                \
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
