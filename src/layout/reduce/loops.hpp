// The loop of a reduction kernel and the operations on scalars: templates for the .cpp files of this folder.
#pragma once

#include <cstddef>
#include <type_traits>

#include "layout/reduce/kernels.hpp"

namespace hr::layout::reduce {
namespace {

// Precedes a loop whose iterations do not depend on one another: result[i] may be right[i], but no other element.
#if defined(__clang__)
#define HR_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define HR_INDEPENDENT _Pragma("GCC ivdep")
#endif

template <class T, class Operation>
[[gnu::always_inline]] inline void each(const void* left_bytes, const void* right_bytes, void* result_bytes,
                                        std::size_t count) {
  const T* left = static_cast<const T*>(left_bytes);
  const T* right = static_cast<const T*>(right_bytes);
  T* result = static_cast<T*>(result_bytes);
  HR_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) result[i] = Operation::apply(left[i], right[i]);
}

template <class T, class Operation>
void loop(const void* left, const void* right, void* result, std::size_t count) {
  each<T, Operation>(left, right, result, count);
}

// The build targets every processor of the architecture, so wide_loop() names its target. Wider vectors fetch more
// cache lines from another core at once.
#if defined(__x86_64__)
template <class T, class Operation>
[[gnu::target("avx2")]] void wide_loop(const void* left, const void* right, void* result, std::size_t count) {
  each<T, Operation>(left, right, result, count);
}
#else
template <class T, class Operation>
inline constexpr Kernel wide_loop = nullptr;
#endif

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
// Integers wrap around; small ones are promoted by the language and truncated again.
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

// S is for comparisons; U, its unsigned counterpart, for arithmetic, so that overflow is defined.
template <Basic kType, class S, class U = S>
inline constexpr KernelRecord kIntegerRecords[] = {
    {OpKind::kMin, kType, loop<S, Min>, wide_loop<S, Min>},
    {OpKind::kMax, kType, loop<S, Max>, wide_loop<S, Max>},
    {OpKind::kSum, kType, loop<U, Sum>, wide_loop<U, Sum>},
    {OpKind::kProd, kType, loop<U, Prod>, wide_loop<U, Prod>},
    {OpKind::kLand, kType, loop<U, Land>, wide_loop<U, Land>},
    {OpKind::kLor, kType, loop<U, Lor>, wide_loop<U, Lor>},
    {OpKind::kLxor, kType, loop<U, Lxor>, wide_loop<U, Lxor>},
    {OpKind::kBand, kType, loop<U, Band>, wide_loop<U, Band>},
    {OpKind::kBor, kType, loop<U, Bor>, wide_loop<U, Bor>},
    {OpKind::kBxor, kType, loop<U, Bxor>, wide_loop<U, Bxor>},
};

template <Basic kType, class T>
inline constexpr KernelRecord kFloatRecords[] = {
    {OpKind::kMin, kType, loop<T, Min>, wide_loop<T, Min>},
    {OpKind::kMax, kType, loop<T, Max>, wide_loop<T, Max>},
    {OpKind::kSum, kType, loop<T, Sum>, wide_loop<T, Sum>},
    {OpKind::kProd, kType, loop<T, Prod>, wide_loop<T, Prod>},
};

// Several lists joined into one array.
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
