// reduce: combines arrays of elements, also on peer devices, into one or several outputs. There is one kernel per
// element type and kind of operation; src/layout/device/reduce.cpp assigns kernels to MPI types.
#include "portability.hpp"
#include "reduce_arguments.hpp"
#include "reduce_loops.hpp"
#include "reduce_operations.hpp"

namespace hr::reduce_kernels {

// Combines words of any type with a bitwise operation, or copies them.
template <class T>
HR_DEVICE void combine_bits(const ReduceArguments& args) {
  switch (args.op) {
    case kernels::kReduceBand:
      return combine<2, T>(args, Band{});
    case kernels::kReduceBor:
      return combine<2, T>(args, Bor{});
    case kernels::kReduceBxor:
      return combine<2, T>(args, Bxor{});
    default:
      return combine<1, T>(args, First{});
  }
}

template <class T>
HR_DEVICE void combine_order(const ReduceArguments& args) {
  if (args.op == kernels::kReduceMin) {
    combine<2, T>(args, Min{});
  } else {
    combine<2, T>(args, Max{});
  }
}

template <class T>
HR_DEVICE void combine_numbers(const ReduceArguments& args) {
  switch (args.op) {
    case kernels::kReduceSum:
      return combine<2, T>(args, Sum{});
    case kernels::kReduceProd:
      return combine<2, T>(args, Prod{});
    default:
      return combine_order<T>(args);
  }
}

template <class T>
HR_DEVICE void combine_logical(const ReduceArguments& args) {
  const Logic<T> values{static_cast<T>(args.true_value), static_cast<T>(args.false_value)};
  switch (args.op) {
    case kernels::kReduceLand:
      return combine<2, T>(args, Land<T>{values});
    case kernels::kReduceLor:
      return combine<2, T>(args, Lor<T>{values});
    default:
      return combine<2, T>(args, Lxor<T>{values});
  }
}

template <class T>
HR_DEVICE void combine_product(const ReduceArguments& args) {
  combine<2, Complex<T>>(args, Prod{});
}

template <class V, class I>
HR_DEVICE void combine_pairs(const ReduceArguments& args) {
  if (args.op == kernels::kReduceMin) {
    combine<2, Pair<V, I>>(args, Loc<true>{});
  } else {
    combine<2, Pair<V, I>>(args, Loc<false>{});
  }
}

}  // namespace hr::reduce_kernels

#define HR_REDUCE_KERNEL(name, ...)                                              \
  HR_KERNEL(hr_reduce_##name, (HR_CONSTANT hr::kernels::ReduceArguments args)) { \
    hr::reduce_kernels::__VA_ARGS__(HR_FIRST(args));                             \
  }

HR_REDUCE_KERNEL(bits_1, combine_bits<std::uint8_t>)
HR_REDUCE_KERNEL(bits_2, combine_bits<std::uint16_t>)
HR_REDUCE_KERNEL(bits_4, combine_bits<std::uint32_t>)
HR_REDUCE_KERNEL(bits_8, combine_bits<std::uint64_t>)

// In two's complement, sums and products of signed integers equal those of unsigned ones.
HR_REDUCE_KERNEL(i8, combine_order<std::int8_t>)
HR_REDUCE_KERNEL(i16, combine_order<std::int16_t>)
HR_REDUCE_KERNEL(i32, combine_order<std::int32_t>)
HR_REDUCE_KERNEL(i64, combine_order<std::int64_t>)
HR_REDUCE_KERNEL(i128, combine_order<__int128>)
HR_REDUCE_KERNEL(u8, combine_numbers<std::uint8_t>)
HR_REDUCE_KERNEL(u16, combine_numbers<std::uint16_t>)
HR_REDUCE_KERNEL(u32, combine_numbers<std::uint32_t>)
HR_REDUCE_KERNEL(u64, combine_numbers<std::uint64_t>)
HR_REDUCE_KERNEL(u128, combine_numbers<unsigned __int128>)

HR_REDUCE_KERNEL(logical_1, combine_logical<std::uint8_t>)
HR_REDUCE_KERNEL(logical_2, combine_logical<std::uint16_t>)
HR_REDUCE_KERNEL(logical_4, combine_logical<std::uint32_t>)
HR_REDUCE_KERNEL(logical_8, combine_logical<std::uint64_t>)
HR_REDUCE_KERNEL(logical_16, combine_logical<__int128>)

HR_REDUCE_KERNEL(f16, combine_numbers<hr::reduce_kernels::Half>)
HR_REDUCE_KERNEL(bf16, combine_numbers<hr::reduce_kernels::Bfloat16>)
HR_REDUCE_KERNEL(f32, combine_numbers<float>)
HR_REDUCE_KERNEL(f64, combine_numbers<double>)

// Used only for products, as complex numbers are summed part by part.
HR_REDUCE_KERNEL(complex_f16, combine_product<hr::reduce_kernels::Half>)
HR_REDUCE_KERNEL(complex_f32, combine_product<float>)
HR_REDUCE_KERNEL(complex_f64, combine_product<double>)

HR_REDUCE_KERNEL(pair_f32_i32, combine_pairs<float, std::int32_t>)
HR_REDUCE_KERNEL(pair_f64_i32, combine_pairs<double, std::int32_t>)
HR_REDUCE_KERNEL(pair_i64_i32, combine_pairs<std::int64_t, std::int32_t>)
HR_REDUCE_KERNEL(pair_i32_i32, combine_pairs<std::int32_t, std::int32_t>)
HR_REDUCE_KERNEL(pair_i16_i32, combine_pairs<std::int16_t, std::int32_t>)
HR_REDUCE_KERNEL(pair_f32_f32, combine_pairs<float, float>)
HR_REDUCE_KERNEL(pair_f64_f64, combine_pairs<double, double>)
