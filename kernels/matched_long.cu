// matched_long: a collective operation of the ranks of one host, in the program's buffers, with a kernel that waits.
// The start kernel tells all ranks that this rank's buffers are ready. The wait kernel, which may also start the
// operation, waits until all buffers are ready. It then reads this rank's share of the elements from the buffers that
// contain it, combines it, and stores the result in the buffers that need it.
//
// Once all ranks have started, every part of every share is moved by some rank, whatever the others wait for in
// between. Each part is claimed first, and a rank that has waited long for the others claims parts that they have not
// begun. Between a claim and the end of its part, a kernel waits only for the starts. So a wait depends only on the
// starts.
//
// Memory order: `ready` is stored with release after everything that the stream did before; a reader acquires it, and a
// barrier extends the acquire to the reader's block. A part is counted in `done` after a system-wide fence behind a
// barrier.
#include "coresident.hpp"
#include "matched_copy.hpp"
#include "matched_long_arguments.hpp"
#include "portability.hpp"
#include "reduce_loops.hpp"
#include "reduce_operations.hpp"

namespace hr::matched_kernels {

// Tells the other ranks that this rank's buffers are ready. at: this rank's word at each other rank; 0: none.
HR_DEVICE void announce(const std::uint64_t* at, std::uint32_t number) {
  HR_NO_UNROLL
  for (std::uint64_t rank = hr_thread(); rank < kernels::kMatchedRanks; rank += hr_block_threads()) {
    if (at[rank] != 0) hr_store_release_system(reinterpret_cast<std::uint32_t*>(at[rank]), number);
  }
}

}  // namespace hr::matched_kernels

HR_CORESIDENT_KERNEL(hr_matched_ready, (HR_CONSTANT hr::kernels::MatchedReady what)) {
  using namespace hr::matched_kernels;  // NOLINT
  auto* const own = reinterpret_cast<hr::kernels::MatchedLongWords*>(what.own);
  if (look(&own->released) != 0) return;
  const std::uint32_t number = own->started + 1;
  announce(what.at, number);
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

// Waits until all ranks have started the operation. Returns false, in all threads, if it is released.
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

// Waits, in one thread, until all parts are complete or the operation is released; returns false, in all threads, after
// `nanoseconds` (0: no limit).
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

// True, in the last thread, if this block has claimed the part and is to move it. The last thread makes the claim, as
// it does not wait for starts meanwhile.
HR_DEVICE bool claim_part(const MatchedLong& what, std::uint64_t rank, std::uint64_t part, std::uint32_t number) {
  return hr_thread() == hr_block_threads() - 1 && claim(&words_of(what, rank)->claimed[part], number);
}

// kInputs: see combine_span().
template <unsigned kInputs, class T, class Op>
HR_DEVICE void combine_part(const MatchedLong& what, const Op& op, std::uint64_t rank, std::uint64_t part) {
  const std::uint64_t first = what.first[rank], count = what.first[rank + 1] - first;
  const bool own_input = what.own_input != 0, own_output = what.own_output != 0;
  const std::uint64_t from = own_input ? 0 : first, to = own_output ? 0 : first;
  const auto index = static_cast<unsigned>(rank);
  const reduce_kernels::Sides sides{own_input ? index : 0, own_input ? 1 : what.reduction.ninputs,
                                    own_output ? index : 0, own_output ? 1 : what.reduction.noutputs,
                                    (to - from) * sizeof(T)};
  constexpr unsigned kMore = kInputs == 1 ? 0 : 4;  // a copy has one input
  reduce_kernels::combine_span<kInputs, T, kMore>(
      what.reduction, sides, op,
      {from, count, part * hr_block_threads() + hr_thread(), what.blocks * hr_block_threads()});
  finish_copies();
  HR_NO_UNROLL
  for (std::uint64_t at = hr_thread(); at < what.ranks; at += hr_block_threads()) {
    fence();
    add(&words_of(what, at)->done, 1);
  }
}

// Each block moves its part of this rank's share. The first block then waits for all parts, and takes over parts that
// others have not begun. Returns false, in all threads, if the operation is released before all ranks have started it.
template <class T, unsigned kInputs, class Op>
HR_DEVICE bool move_parts(const MatchedLong& what, const Op& op, std::uint32_t number) {
  std::uint64_t rank = what.rank, part = blockIdx.x;
  std::uint64_t next = 0;  // next part to examine, over all shares
  bool mine = claim_part(what, rank, part, number);
  if (!wait_for_starts(what, number)) return false;
  mine = in_any_thread(mine);
  HR_NO_UNROLL
  while (true) {
    if (mine) combine_part<kInputs, T>(what, op, rank, part);
    if (blockIdx.x != 0 || (next == 0 && wait_for_parts(what, number, kernels::kMatchedLongPatience))) return true;
    mine = false;
    HR_NO_UNROLL
    for (; !mine && next < what.ranks * what.blocks; ++next) {
      rank = next / what.blocks;
      part = next % what.blocks;
      mine = in_any_thread(claim_part(what, rank, part, number));
    }
    if (mine) continue;
    wait_for_parts(what, number, 0);
    return true;
  }
}

template <class T, unsigned kInputs = 2, class Op>
HR_DEVICE void combine_long(const MatchedLong& what, const Op& op) {
  MatchedLongWords* const own = words_of(what, what.rank);
  const bool starts = what.starts != 0;
  // In a launch that starts the operation, only the last block to end changes `started`.
  const std::uint32_t number = look(&own->started) + (starts ? 1 : 0);
  if (starts && blockIdx.x == 0 && look(&own->released) == 0) announce(what.at, number);
  if (!move_parts<T, kInputs>(what, op, number) || !starts) return;
  finish_copies();
  if (!is_last_thread() || count_block(&own->finished) + 1 != what.blocks) return;
  own->finished = 0;
  own->started = number;
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

HR_DEVICE void copy_long(const MatchedLong& what) {
  constexpr reduce_kernels::First kFirst{};
  switch (what.element) {
    case 8:
      return combine_long<std::uint64_t, 1>(what, kFirst);
    case 4:
      return combine_long<std::uint32_t, 1>(what, kFirst);
    default:
      return combine_long<std::uint8_t, 1>(what, kFirst);
  }
}

}  // namespace hr::matched_kernels

#define HR_MATCHED_LONG_KERNEL(name, ...)                                                     \
  HR_CORESIDENT_KERNEL(hr_matched_long_##name, (HR_CONSTANT hr::kernels::MatchedLong what)) { \
    hr::matched_kernels::__VA_ARGS__(HR_FIRST(what));                                         \
  }

HR_MATCHED_LONG_KERNEL(copy, copy_long)
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
