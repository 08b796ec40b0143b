// MINLOC and MAXLOC (section 6.9.4): of equal values the lower index wins.
#include "layout/reduce/loops.hpp"

namespace hr::layout::reduce {
namespace {

template <class Value, class Index>
struct Pair {
  Value value;
  Index index;
};

template <class P, bool kMin>
void loc_loop(const void* in_bytes, void* inout_bytes, std::size_t count) {
  const P* __restrict in = static_cast<const P*>(in_bytes);
  P* __restrict inout = static_cast<P*>(inout_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const bool better = kMin ? in[i].value < inout[i].value : in[i].value > inout[i].value;
    const bool earlier = in[i].value == inout[i].value && in[i].index < inout[i].index;
    // Member by member: the padding between them is not ours.
    inout[i].value = better ? in[i].value : inout[i].value;
    inout[i].index = better || earlier ? in[i].index : inout[i].index;
  }
}

template <Basic kType, class Value, class Index>
constexpr KernelRecord kPairRecords[] = {
    {OpKind::kMinloc, kType, loc_loop<Pair<Value, Index>, true>},
    {OpKind::kMaxloc, kType, loc_loop<Pair<Value, Index>, false>},
};

constexpr auto kRecords =
    join(kPairRecords<Basic::kFloatInt, float, int>, kPairRecords<Basic::kDoubleInt, double, int>,
         kPairRecords<Basic::kLongInt, long, int>, kPairRecords<Basic::k2Int, int, int>,
         kPairRecords<Basic::kShortInt, short, int>, kPairRecords<Basic::kLongDoubleInt, long double, int>,
         kPairRecords<Basic::k2Real, float, float>, kPairRecords<Basic::k2Double, double, double>);

}  // namespace
std::span<const KernelRecord> pair_kernels() noexcept { return kRecords.records; }
}  // namespace hr::layout::reduce
