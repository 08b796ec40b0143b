// Operands of reductions: random values with every special case of arithmetic, and results that may differ between
// processors.
#pragma once

#include <cstring>
#include <limits>
#include <random>

#include "layout/basic.hpp"
#include "layout/reduce/scalars.hpp"

namespace hr::layout::test {

// Scalars of an element of a representation.
struct Parts {
  enum class Kind { kInteger, kHalf, kBfloat16, kFloat, kDouble, kOther } kind = Kind::kOther;
  unsigned bytes = 0;
};

inline Parts parts_of(Basic basic) {
  switch (basic) {
    case Basic::kFloat16:
    case Basic::kComplex16:
      return {Parts::Kind::kHalf, 2};
    case Basic::kBfloat16:
      return {Parts::Kind::kBfloat16, 2};
    case Basic::kFloat32:
    case Basic::kComplex32:
    case Basic::k2Real:
      return {Parts::Kind::kFloat, 4};
    case Basic::kFloat64:
    case Basic::kComplex64:
    case Basic::k2Double:
      return {Parts::Kind::kDouble, 8};
    case Basic::kInt16:
    case Basic::kUint16:
    case Basic::kLogical16:
      return {Parts::Kind::kInteger, 2};
    case Basic::kInt32:
    case Basic::kUint32:
    case Basic::kLogical32:
    case Basic::k2Int:
    case Basic::kShortInt:  // a short and the padding after it
      return {Parts::Kind::kInteger, 4};
    case Basic::kInt64:
    case Basic::kUint64:
    case Basic::kLogical64:
    case Basic::kLongInt:
      return {Parts::Kind::kInteger, 8};
    case Basic::kInt128:
    case Basic::kLogical128:
      return {Parts::Kind::kInteger, 16};
    case Basic::kFloatInt:
      return {Parts::Kind::kFloat, 4};  // also for the index: any bits are an integer
    case Basic::kDoubleInt:
      return {Parts::Kind::kDouble, 8};
    default:
      return {Parts::Kind::kInteger, 1};
  }
}

// Writes one scalar to `to`: small numbers (which are often equal), extremes, NaN and infinities, or any bits.
class RandomScalars {
 public:
  explicit RandomScalars(std::uint64_t seed) : random_(seed) {}

  void put(const Parts& parts, std::byte* to) {
    for (unsigned i = 0; i < parts.bytes; ++i) to[i] = static_cast<std::byte>(random_());
    const unsigned choice = random_() % 8;
    if (choice == 0) return;
    const int small = static_cast<int>(random_() % 7) - 3;
    switch (parts.kind) {
      case Parts::Kind::kFloat:
        return store(to, choice < 3 ? special<float>() : choice < 5 ? static_cast<float>(small) : fraction<float>());
      case Parts::Kind::kDouble:
        return store(to, choice < 3 ? special<double>() : choice < 5 ? static_cast<double>(small) : fraction<double>());
      case Parts::Kind::kHalf:
        return store(to, choice < 3 ? static_cast<Half>(special<float>())
                                    : static_cast<Half>(choice < 5 ? static_cast<float>(small) : fraction<float>()));
      case Parts::Kind::kBfloat16:
        return store(to, Bfloat16(choice < 3   ? special<float>()
                                  : choice < 5 ? static_cast<float>(small)
                                               : fraction<float>()));
      default:
        return integer(parts.bytes, choice, small, to);
    }
  }

 private:
  template <class T>
  static void store(std::byte* to, T value) {
    std::memcpy(to, &value, sizeof value);
  }
  template <class T>
  T special() {
    using Limits = std::numeric_limits<T>;
    const T values[] = {T(0),
                        -T(0),
                        Limits::quiet_NaN(),
                        -Limits::quiet_NaN(),
                        Limits::infinity(),
                        Limits::max(),
                        Limits::lowest(),
                        Limits::min(),
                        Limits::denorm_min(),
                        -Limits::infinity()};
    return values[random_() % std::size(values)];
  }
  template <class T>
  T fraction() {
    return static_cast<T>(std::normal_distribution<double>()(random_));
  }
  void integer(unsigned bytes, unsigned choice, int small, std::byte* to) const {
    std::memset(to, choice > 4 && small < 0 ? 0xff : 0, bytes);
    if (choice > 4) {
      to[0] = static_cast<std::byte>(small);
    } else if (choice > 2) {  // the largest or the smallest signed number
      std::memset(to, choice == 3 ? 0xff : 0, bytes);
      to[bytes - 1] = static_cast<std::byte>(choice == 3 ? 0x7f : 0x80);
    }
  }

  std::mt19937_64 random_;
};

// Replaces every NaN with one value: the payload that arithmetic keeps or creates depends on the processor.
inline void forget_payload(const Parts& parts, std::byte* at) {
  const auto forget = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    if (value == value) return;
    std::memset(at, 0x7f, sizeof value);
  };
  switch (parts.kind) {
    case Parts::Kind::kFloat:
      return forget(float{});
    case Parts::Kind::kDouble:
      return forget(double{});
    case Parts::Kind::kHalf:
      return forget(Half{});
    case Parts::Kind::kBfloat16:
      return forget(Bfloat16{});
    default:
      return;
  }
}

}  // namespace hr::layout::test
