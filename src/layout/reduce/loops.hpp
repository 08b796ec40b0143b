// The loop of a reduction kernel and the operations on scalars: templates for the .cpp files of this folder.
#pragma once

#include <cstddef>
#include <type_traits>

#include "layout/reduce/kernels.hpp"

namespace hr::layout::reduce {
namespace {

template <class T, class Operation>
void loop(const void* in_bytes, void* inout_bytes, std::size_t count) {
  const T* __restrict in = static_cast<const T*>(in_bytes);
  T* __restrict inout = static_cast<T*>(inout_bytes);
  for (std::size_t i = 0; i < count; ++i) inout[i] = Operation::apply(in[i], inout[i]);
}

struct Min {
  template <class T>
  static T apply(T a, T b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    return a > b ? a : b;
  }
};
// Integers wrap around; small ones are widened by the language and cut again.
struct Sum {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a + b);
  }
};
struct Prod {
  template <class T>
  static T apply(T a, T b) {
    // unsigned short * unsigned short would overflow int.
    if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(unsigned)) {
      return static_cast<T>(static_cast<unsigned>(a) * static_cast<unsigned>(b));
    } else {
      return static_cast<T>(a * b);
    }
  }
};
struct Band {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Bor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Bxor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Land {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a != T{}) & (b != T{}));
  }
};
struct Lor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a != T{}) | (b != T{}));
  }
};
struct Lxor {
  template <class T>
  static T apply(T a, T b) {
    return static_cast<T>((a != T{}) != (b != T{}));
  }
};

// S compares; U, its unsigned counterpart, does the arithmetic, so that overflow is defined.
template <Basic kType, class S, class U = S>
inline constexpr KernelRecord kIntegerRecords[] = {
    {OpKind::kMin, kType, loop<S, Min>},   {OpKind::kMax, kType, loop<S, Max>},   {OpKind::kSum, kType, loop<U, Sum>},
    {OpKind::kProd, kType, loop<U, Prod>}, {OpKind::kLand, kType, loop<U, Land>}, {OpKind::kLor, kType, loop<U, Lor>},
    {OpKind::kLxor, kType, loop<U, Lxor>}, {OpKind::kBand, kType, loop<U, Band>}, {OpKind::kBor, kType, loop<U, Bor>},
    {OpKind::kBxor, kType, loop<U, Bxor>},
};

template <Basic kType, class T>
inline constexpr KernelRecord kFloatRecords[] = {
    {OpKind::kMin, kType, loop<T, Min>},
    {OpKind::kMax, kType, loop<T, Max>},
    {OpKind::kSum, kType, loop<T, Sum>},
    {OpKind::kProd, kType, loop<T, Prod>},
};

// Several lists as one array.
template <std::size_t kTotal>
struct Records {
  KernelRecord records[kTotal]{};
};
template <std::size_t... kSizes>
constexpr auto join(const KernelRecord (&... lists)[kSizes]) {
  Records<(kSizes + ...)> joined;
  std::size_t next = 0;
  const auto add = [&](const KernelRecord* list, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) joined.records[next++] = list[i];
  };
  (add(lists, kSizes), ...);
  return joined;
}

}  // namespace
}  // namespace hr::layout::reduce
