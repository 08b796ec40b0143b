#include "layout/reduce/loops.hpp"
#include "layout/reduce/scalars.hpp"

namespace hr::layout::reduce {
namespace {
constexpr auto kRecords = join(kFloatRecords<Basic::kFloat16, Half>, kFloatRecords<Basic::kBfloat16, Bfloat16>,
                               kFloatRecords<Basic::kFloat80, long double>, kFloatRecords<Basic::kFloat128, Quad>,
                               kIntegerRecords<Basic::kInt128, Int128, Uint128>);
}
std::span<const KernelRecord> wide_kernels() noexcept { return kRecords.records; }
}  // namespace hr::layout::reduce
