// C++ types for representations that have no portable name in the language.
#pragma once

#include <bit>
#include <cstdint>

namespace hr::layout {

using Int128 = __int128;
using Uint128 = unsigned __int128;
using Half = _Float16;
// The type of Fortran's REAL(16): IEEE 754 quadruple precision.
#if defined(__x86_64__)
using Quad = __float128;
#else
using Quad = long double;
static_assert(sizeof(long double) == 16);
#endif

// The upper half of a float. Computed in float and rounded to nearest even after every operation.
class Bfloat16 {
 public:
  Bfloat16() = default;
  explicit Bfloat16(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const bool nan = (bits & 0x7fffffff) > 0x7f800000;
    const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    bits_ = static_cast<std::uint16_t>(nan ? bits >> 16 | 0x40 : rounded);  // a NaN remains a NaN, but becomes quiet
  }
  explicit operator float() const noexcept { return std::bit_cast<float>(std::uint32_t{bits_} << 16); }

  friend Bfloat16 operator+(Bfloat16 a, Bfloat16 b) noexcept { return Bfloat16(float(a) + float(b)); }
  friend Bfloat16 operator*(Bfloat16 a, Bfloat16 b) noexcept { return Bfloat16(float(a) * float(b)); }
  friend bool operator<(Bfloat16 a, Bfloat16 b) noexcept { return float(a) < float(b); }
  friend bool operator>(Bfloat16 a, Bfloat16 b) noexcept { return float(a) > float(b); }
  friend bool operator==(Bfloat16 a, Bfloat16 b) noexcept { return float(a) == float(b); }

 private:
  std::uint16_t bits_;
};

// Two numbers, in the layout of complex numbers in C, C++ and Fortran.
template <class T>
struct Complex {
  T re, im;
  friend Complex operator+(Complex a, Complex b) { return {static_cast<T>(a.re + b.re), static_cast<T>(a.im + b.im)}; }
  // Uses the textbook formula, as Fortran compilers do, because it can be vectorised; infinities give the results of
  // that formula. Each product is rounded, also on the device.
  friend Complex operator*(Complex a, Complex b) {
    return {static_cast<T>(static_cast<T>(a.re * b.re) - static_cast<T>(a.im * b.im)),
            static_cast<T>(static_cast<T>(a.re * b.im) + static_cast<T>(a.im * b.re))};
  }
};

}  // namespace hr::layout
