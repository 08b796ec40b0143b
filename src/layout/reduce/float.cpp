#include "layout/reduce/loops.hpp"

namespace hr::layout::reduce {
namespace {
constexpr auto kRecords = join(kFloatRecords<Basic::kFloat32, float>, kFloatRecords<Basic::kFloat64, double>);
}
std::span<const KernelRecord> float_kernels() noexcept { return kRecords.records; }
}  // namespace hr::layout::reduce
