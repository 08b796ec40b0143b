// The C++ types of representations that the language has no portable name for.
#pragma once

#include <cstdint>

namespace hr::layout {

using Int128 = __int128;
using Uint128 = unsigned __int128;
using Half = _Float16;
// The type of Fortran's REAL(16): quadruple precision of IEEE 754.
#if defined(__x86_64__)
using Quad = __float128;
#else
using Quad = long double;
static_assert(sizeof(long double) == 16);
#endif

// Two numbers, as C, C++ and Fortran all lay a complex number out.
template <class T>
struct Complex {
  T re, im;
  friend Complex operator+(Complex a, Complex b) { return {static_cast<T>(a.re + b.re), static_cast<T>(a.im + b.im)}; }
  // The textbook formula: Fortran compilers use it too, and it vectorises; infinities follow from it.
  friend Complex operator*(Complex a, Complex b) {
    return {static_cast<T>(a.re * b.re - a.im * b.im), static_cast<T>(a.re * b.im + a.im * b.re)};
  }
};

}  // namespace hr::layout
