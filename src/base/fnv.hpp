// FNV-1a: a hash that is the same in all processes. For names and sets of numbers, not against chosen collisions.
#pragma once

#include <cstdint>
#include <type_traits>

namespace hr {

inline constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325;

// Returns the hash of a sequence of bytes or other integers. `hash`: kFnvStart, or that of the integers before them.
template <class Integers>
constexpr std::uint64_t fnv1a(const Integers& integers, std::uint64_t hash = kFnvStart) noexcept {
  for (const auto each : integers) {
    hash = (hash ^ static_cast<std::make_unsigned_t<std::remove_cv_t<decltype(each)>>>(each)) * 0x100000001b3;
  }
  return hash;
}

// Returns the hash as a number that is not negative.
constexpr std::int32_t fold(std::uint64_t hash) noexcept {
  return static_cast<std::int32_t>((hash ^ hash >> 32) & 0x7fffffff);
}

}  // namespace hr
