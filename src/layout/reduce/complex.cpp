#include "layout/reduce/loops.hpp"
#include "layout/reduce/scalars.hpp"

namespace hr::layout::reduce {
namespace {
template <Basic kType, class T>
constexpr KernelRecord kComplexRecords[] = {
    {OpKind::kSum, kType, loop<Complex<T>, Sum>, wide_loop<Complex<T>, Sum>},
    {OpKind::kProd, kType, loop<Complex<T>, Prod>, wide_loop<Complex<T>, Prod>},
};
constexpr auto kRecords =
    join(kComplexRecords<Basic::kComplex16, Half>, kComplexRecords<Basic::kComplex32, float>,
         kComplexRecords<Basic::kComplex64, double>, kComplexRecords<Basic::kComplex80, long double>,
         kComplexRecords<Basic::kComplex128, Quad>);
}  // namespace
std::span<const KernelRecord> complex_kernels() noexcept { return kRecords.records; }
}  // namespace hr::layout::reduce
