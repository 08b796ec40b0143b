#include <cstdint>

#include "layout/reduce/loops.hpp"
#include "layout/reduce/scalars.hpp"

namespace hr::layout::reduce {
namespace {

// Fortran logicals: any value except .FALSE. is true; results are the compiler's two values.
template <class T, class Operation>
void fortran_loop(const void* left_bytes, const void* right_bytes, void* result_bytes, std::size_t count) {
  const T* left = static_cast<const T*>(left_bytes);
  const T* right = static_cast<const T*>(right_bytes);
  T* result = static_cast<T*>(result_bytes);
  const T yes = static_cast<T>(fortran_booleans().true_value);
  const T no = static_cast<T>(fortran_booleans().false_value);
  HR_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = Operation::apply(static_cast<T>(left[i] != no), static_cast<T>(right[i] != no)) != T{} ? yes : no;
  }
}

template <Basic kType, class T>
constexpr KernelRecord kFortranRecords[] = {
    {OpKind::kLand, kType, fortran_loop<T, Land>},
    {OpKind::kLor, kType, fortran_loop<T, Lor>},
    {OpKind::kLxor, kType, fortran_loop<T, Lxor>},
};

// C and C++ bool, read as bytes, so that a byte that is neither 0 nor 1 is not undefined behaviour.
constexpr KernelRecord kBoolRecords[] = {
    {OpKind::kLand, Basic::kBool, loop<std::uint8_t, Land>},
    {OpKind::kLor, Basic::kBool, loop<std::uint8_t, Lor>},
    {OpKind::kLxor, Basic::kBool, loop<std::uint8_t, Lxor>},
};

constexpr auto kRecords =
    join(kBoolRecords, kFortranRecords<Basic::kLogical8, std::int8_t>, kFortranRecords<Basic::kLogical16, std::int16_t>,
         kFortranRecords<Basic::kLogical32, std::int32_t>, kFortranRecords<Basic::kLogical64, std::int64_t>,
         kFortranRecords<Basic::kLogical128, Int128>);

}  // namespace
std::span<const KernelRecord> logical_kernels() noexcept { return kRecords.records; }
}  // namespace hr::layout::reduce
