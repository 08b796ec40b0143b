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
void loc_loop(const void* left_bytes, const void* right_bytes, void* result_bytes, std::size_t count) {
  const P* left = static_cast<const P*>(left_bytes);
  const P* right = static_cast<const P*>(right_bytes);
  P* result = static_cast<P*>(result_bytes);
  HR_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) {
    const bool better = kMin ? left[i].value < right[i].value : left[i].value > right[i].value;
    const bool earlier = left[i].value == right[i].value && left[i].index < right[i].index;
    // Stored member by member, as the padding between them must not be written.
    const auto value = better ? left[i].value : right[i].value;
    const auto index = better || earlier ? left[i].index : right[i].index;
    result[i].value = value;
    result[i].index = index;
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
