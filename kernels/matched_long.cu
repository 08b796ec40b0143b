// matched_long: a reduction among the ranks of one host, in the program's buffers, with a kernel that waits. The start
// kernel tells all ranks that this rank's buffers are ready. The wait kernel combines this rank's share of the elements
// from the buffers of all ranks, once all are ready, and stores the result in all of them.
//
// Some rank combines every part of every share as soon as all ranks have started, whatever the ranks wait for in
// between: each part is claimed first, and a rank that has waited long for the others claims parts that they have not
// begun. Between a claim and the end of its part, a kernel waits only for the starts. So a wait depends only on the
// starts.
//
// Memory order: `ready` is stored with release after everything that the stream did before; a reader acquires it, and a
// barrier passes that on to its block. A part is counted in `done` after a system-wide fence behind a barrier.
#include "coresident.hpp"
#include "matched_copy.hpp"
#include "matched_long_arguments.hpp"
#include "portability.hpp"
#include "reduce_loops.hpp"
#include "reduce_operations.hpp"

HR_KERNEL(hr_matched_ready, (HR_CONSTANT hr::kernels::MatchedReady what)) {
  using namespace hr::matched_kernels;  // NOLINT
  auto* const own = reinterpret_cast<hr::kernels::MatchedLongWords*>(what.own);
  if (look(&own->released) != 0) return;
  const std::uint32_t number = own->started + 1;
  if (threadIdx.x < hr::kernels::kMatchedRanks && what.at[threadIdx.x] != 0) {
    hr_store_release_system(reinterpret_cast<std::uint32_t*>(what.at[threadIdx.x]), number);
  }
  finish_copies();
  if (is_last_thread()) own->started = number;
}

namespace hr::matched_kernels {

using kernels::MatchedLong;
using kernels::MatchedLongWords;

HR_DEVICE MatchedLongWords* words_of(const MatchedLong& what, std::uint64_t rank) {
  return reinterpret_cast<MatchedLongWords*>(what.words[rank]);
}
HR_DEVICE bool is_before(std::uint32_t number, std::uint32_t other) {
  return static_cast<std::int32_t>(number - other) < 0;
}

// Waits until all ranks have started the reduction. Returns false, in all threads, if it is released.
HR_DEVICE bool wait_for_starts(const MatchedLong& what, std::uint32_t number) {
  const MatchedLongWords* const own = words_of(what, what.rank);
  bool over = look(&own->released) != 0;
  HR_NO_UNROLL
  for (std::uint64_t rank = hr_thread(); rank < what.ranks && !over; rank += hr_block_threads()) {
    std::uint32_t looks = 0;
    while (rank != what.rank && !over && is_before(look_acquire(&own->ready[rank]), number)) {
      over = look(&own->released) != 0;
      pause(&looks);
    }
  }
  return !in_any_thread(over);
}

// Waits, in one thread, until all parts are in this rank's buffer or the reduction is released; returns false, in all
// threads, after `nanoseconds` (0: no limit).
HR_DEVICE bool wait_for_parts(const MatchedLong& what, std::uint32_t number, std::uint64_t nanoseconds) {
  const MatchedLongWords* const own = words_of(what, what.rank);
  const auto all = static_cast<std::uint32_t>(number * what.ranks * what.blocks);
  bool over = false;
  if (hr_thread() == 0) {
    const std::uint64_t begun = hr_nanoseconds();
    std::uint32_t looks = 0;
    HR_NO_UNROLL
    while (true) {
      over = !is_before(look_acquire(&own->done), all) || look(&own->released) != 0;
      if (over || (nanoseconds != 0 && hr_nanoseconds() - begun > nanoseconds)) break;
      pause(&looks);
    }
  }
  return in_any_thread(over);
}

// True, in one thread, if this block is to combine the part. That thread does not wait for starts meanwhile.
HR_DEVICE bool claim_part(const MatchedLong& what, std::uint64_t rank, std::uint64_t part, std::uint32_t number) {
  return hr_thread() == hr_block_threads() - 1 && claim(&words_of(what, rank)->claimed[part], number);
}

template <class T, class Op>
HR_DEVICE void combine_part(const MatchedLong& what, const Op& op, std::uint64_t rank, std::uint64_t part) {
  const std::uint64_t all = what.reduction.count;
  const std::uint64_t first = rank * what.share < all ? rank * what.share : all;
  const std::uint64_t count = all - first < what.share ? all - first : what.share;
  reduce_kernels::combine_span<2, T>(
      what.reduction, op, {first, count, part * hr_block_threads() + hr_thread(), what.blocks * hr_block_threads()});
  finish_copies();
  HR_NO_UNROLL
  for (std::uint64_t to = hr_thread(); to < what.ranks; to += hr_block_threads()) {
    fence();
    add(&words_of(what, to)->done, 1);
  }
}

// Each block combines its part of this rank's share. The first block waits for the others, and then for the other
// ranks.
template <class T, class Op>
HR_DEVICE void combine_long(const MatchedLong& what, const Op& op) {
  const std::uint32_t number = words_of(what, what.rank)->started;  // unchanged until this kernel ends
  std::uint64_t rank = what.rank, part = blockIdx.x;
  std::uint64_t next = 0;  // next part to examine, over all shares
  bool mine = claim_part(what, rank, part, number);
  if (!wait_for_starts(what, number)) return;
  mine = in_any_thread(mine);
  HR_NO_UNROLL
  while (true) {
    if (mine) combine_part<T>(what, op, rank, part);
    if (blockIdx.x != 0 || (next == 0 && wait_for_parts(what, number, kernels::kMatchedLongPatience))) return;
    mine = false;
    HR_NO_UNROLL
    for (; !mine && next < what.ranks * what.blocks; ++next) {
      rank = next / what.blocks;
      part = next % what.blocks;
      mine = in_any_thread(claim_part(what, rank, part, number));
    }
    if (mine) continue;
    wait_for_parts(what, number, 0);
    return;
  }
}

template <class T>
HR_DEVICE void combine_long_order(const MatchedLong& what) {
  what.reduction.op == kernels::kReduceMin ? combine_long<T>(what, reduce_kernels::Min{})
                                           : combine_long<T>(what, reduce_kernels::Max{});
}

template <class T>
HR_DEVICE void combine_long_numbers(const MatchedLong& what) {
  switch (what.reduction.op) {
    case kernels::kReduceSum:
      return combine_long<T>(what, reduce_kernels::Sum{});
    case kernels::kReduceProd:
      return combine_long<T>(what, reduce_kernels::Prod{});
    default:
      return combine_long_order<T>(what);
  }
}

template <class T>
HR_DEVICE void combine_long_bits(const MatchedLong& what) {
  switch (what.reduction.op) {
    case kernels::kReduceBand:
      return combine_long<T>(what, reduce_kernels::Band{});
    case kernels::kReduceBor:
      return combine_long<T>(what, reduce_kernels::Bor{});
    default:
      return combine_long<T>(what, reduce_kernels::Bxor{});
  }
}

}  // namespace hr::matched_kernels

#define HR_MATCHED_LONG_KERNEL(name, ...)                                                     \
  HR_CORESIDENT_KERNEL(hr_matched_long_##name, (HR_CONSTANT hr::kernels::MatchedLong what)) { \
    hr::matched_kernels::__VA_ARGS__(HR_FIRST(what));                                         \
  }

HR_MATCHED_LONG_KERNEL(bits_4, combine_long_bits<std::uint32_t>)
HR_MATCHED_LONG_KERNEL(bits_8, combine_long_bits<std::uint64_t>)
HR_MATCHED_LONG_KERNEL(i32, combine_long_order<std::int32_t>)
HR_MATCHED_LONG_KERNEL(i64, combine_long_order<std::int64_t>)
HR_MATCHED_LONG_KERNEL(u32, combine_long_numbers<std::uint32_t>)
HR_MATCHED_LONG_KERNEL(u64, combine_long_numbers<std::uint64_t>)
HR_MATCHED_LONG_KERNEL(f16, combine_long_numbers<hr::reduce_kernels::Half>)
HR_MATCHED_LONG_KERNEL(bf16, combine_long_numbers<hr::reduce_kernels::Bfloat16>)
HR_MATCHED_LONG_KERNEL(f32, combine_long_numbers<float>)
HR_MATCHED_LONG_KERNEL(f64, combine_long_numbers<double>)
