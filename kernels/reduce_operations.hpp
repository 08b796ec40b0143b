// reduce_operations.hpp: the element types of the reduction kernels and the operations on them.
//
// Results have the same bits as those of the host engine (src/layout/reduce): no fused multiply-add, half and bfloat16
// rounded to nearest even after every operation, min and max by one comparison (so that NaN and signed zero agree).
// Only the payload of a NaN made by arithmetic depends on the processor.
#pragma once

#include <cstdint>
#include <cstring>

#include "portability.hpp"

namespace hr::reduce_kernels {

// --- 16-bit floating point: computed in float, whose rounding error never affects the second rounding ---

struct Half {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

#if defined(__CUDACC__)
HR_DEVICE float widen(Half a) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(a.bits));
  return wide;
}
HR_DEVICE void narrow(float a, Half* to) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to->bits) : "f"(a)); }
HR_DEVICE float widen(Bfloat16 a) { return __uint_as_float(std::uint32_t{a.bits} << 16); }
HR_DEVICE void narrow(float a, Bfloat16* to) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to->bits) : "f"(a)); }
// Multiplies; the product is never fused with a subsequent sum.
HR_DEVICE float multiply(float a, float b) { return __fmul_rn(a, b); }
HR_DEVICE double multiply(double a, double b) { return __dmul_rn(a, b); }
#else
HR_DEVICE float widen(Half a) {
  _Float16 half;
  __builtin_memcpy(&half, &a.bits, sizeof half);
  return static_cast<float>(half);
}
HR_DEVICE void narrow(float a, Half* to) {
  const auto half = static_cast<_Float16>(a);
  __builtin_memcpy(&to->bits, &half, sizeof half);
}
HR_DEVICE float widen(Bfloat16 a) {
  const std::uint32_t bits = std::uint32_t{a.bits} << 16;
  float wide;
  __builtin_memcpy(&wide, &bits, sizeof wide);
  return wide;
}
HR_DEVICE void narrow(float a, Bfloat16* to) {
  std::uint32_t bits;
  __builtin_memcpy(&bits, &a, sizeof bits);
  const bool nan = (bits & 0x7fffffff) > 0x7f800000;
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  to->bits = static_cast<std::uint16_t>(nan ? bits >> 16 | 0x40 : rounded);
}
HR_DEVICE float multiply(float a, float b) { return a * b; }
HR_DEVICE double multiply(double a, double b) { return a * b; }
#endif

template <class T>
HR_DEVICE T narrowed(float a) {
  T small;
  narrow(a, &small);
  return small;
}

#define HR_SMALL_FLOAT_OPERATORS(T)                                                    \
  HR_DEVICE bool operator<(T a, T b) { return widen(a) < widen(b); }                   \
  HR_DEVICE bool operator>(T a, T b) { return widen(a) > widen(b); }                   \
  HR_DEVICE T operator+(T a, T b) { return narrowed<T>(widen(a) + widen(b)); }         \
  HR_DEVICE T operator-(T a, T b) { return narrowed<T>(widen(a) - widen(b)); }         \
  HR_DEVICE T multiply(T a, T b) { return narrowed<T>(multiply(widen(a), widen(b))); } \
  HR_DEVICE T operator*(T a, T b) { return multiply(a, b); }
HR_SMALL_FLOAT_OPERATORS(Half)
HR_SMALL_FLOAT_OPERATORS(Bfloat16)
#undef HR_SMALL_FLOAT_OPERATORS

// --- compound types ---

template <class T>
struct Complex {
  T re, im;
};
template <class T>
HR_DEVICE Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {static_cast<T>(multiply(a.re, b.re) - multiply(a.im, b.im)),
          static_cast<T>(multiply(a.re, b.im) + multiply(a.im, b.re))};
}

// Value and index. The padding of the C struct is neither read nor written.
template <class V, class I>
struct Pair {
  using Value = V;
  using Index = I;
  V value;
  I index;
};

// --- operations: left op right ---

struct First {
  static constexpr bool kWordwise = true;
  template <class T>
  HR_METHOD T operator()(T a, T) const {
    return a;
  }
};
struct Min {
  static constexpr bool kWordwise = false;
  template <class T>
  HR_METHOD T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};
struct Max {
  static constexpr bool kWordwise = false;
  template <class T>
  HR_METHOD T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
struct Sum {
  static constexpr bool kWordwise = false;
  template <class T>
  HR_METHOD T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
// Integers are unsigned here; short ones would be promoted to int, which could overflow.
struct Prod {
  static constexpr bool kWordwise = false;
  template <class T>
  HR_METHOD T operator()(T a, T b) const {
    return a * b;
  }
  HR_METHOD std::uint8_t operator()(std::uint8_t a, std::uint8_t b) const {
    return static_cast<std::uint8_t>(std::uint32_t{a} * b);
  }
  HR_METHOD std::uint16_t operator()(std::uint16_t a, std::uint16_t b) const {
    return static_cast<std::uint16_t>(std::uint32_t{a} * b);
  }
};
// Bitwise operations work on any word, regardless of the elements in it.
struct Band {
  static constexpr bool kWordwise = true;
  template <class T>
  HR_METHOD T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Bor {
  static constexpr bool kWordwise = true;
  template <class T>
  HR_METHOD T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Bxor {
  static constexpr bool kWordwise = true;
  template <class T>
  HR_METHOD T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

// Every value except `no` is true; results are `yes` or `no`.
template <class T>
struct Logic {
  static constexpr bool kWordwise = false;
  T yes, no;
};
template <class T>
struct Land : Logic<T> {
  HR_METHOD T operator()(T a, T b) const { return (a != this->no) & (b != this->no) ? this->yes : this->no; }
};
template <class T>
struct Lor : Logic<T> {
  HR_METHOD T operator()(T a, T b) const { return (a != this->no) | (b != this->no) ? this->yes : this->no; }
};
template <class T>
struct Lxor : Logic<T> {
  HR_METHOD T operator()(T a, T b) const { return (a != this->no) != (b != this->no) ? this->yes : this->no; }
};

// Among equal values the lower index wins (section 6.9.4).
template <bool kMin>
struct Loc {
  static constexpr bool kWordwise = false;
  template <class P>
  HR_METHOD P operator()(P a, P b) const {
    const bool better = kMin ? a.value < b.value : a.value > b.value;
    const bool earlier = a.value == b.value && a.index < b.index;
    P best;
    best.value = better ? a.value : b.value;
    best.index = better || earlier ? a.index : b.index;
    return best;
  }
};

}  // namespace hr::reduce_kernels
