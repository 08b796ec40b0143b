// Cost of the benchmark's layouts without MPI: a hand-written loop for each, with bounds and strides that the compiler
// knows.
//
// With kPack, data is copied from the typed to the packed side, otherwise in the opposite direction. The caller keeps
// the compiler from eliding the loops.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

namespace bench::bare {

template <bool kPack>
inline void move(unsigned char* typed, unsigned char* packed, std::size_t bytes) {
  if constexpr (kPack) {
    std::memcpy(packed, typed, bytes);
  } else {
    std::memcpy(typed, packed, bytes);
  }
}

inline bool prefetches() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel") != 0;
#else
  return false;
#endif
}

// Blocks of kWidth bytes, with gaps of the same length.
template <bool kPack, std::size_t kWidth>
void vector(unsigned char* typed, unsigned char* packed, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks; ++i) move<kPack>(typed + 2 * i * kWidth, packed + i * kWidth, kWidth);
}

// Doubles at the given positions. Scattered stores that miss the first-level cache wait for one line at a time, so on
// Intel processors the lines are prefetched (AMD processors gain nothing from prefetching).
template <bool kPack>
void indexed(unsigned char* typed, unsigned char* packed, const std::vector<int>& places) {
  constexpr std::size_t kAhead = 32;
  const int* at = places.data();
  const std::size_t n = places.size();
  const auto one = [&](std::size_t i) {
    move<kPack>(typed + static_cast<std::size_t>(at[i]) * sizeof(double), packed + i * sizeof(double), sizeof(double));
  };
  std::size_t i = 0;
  if (!kPack && n * sizeof(double) >= (std::size_t{32} << 10) && prefetches()) {
    for (; i + kAhead < n; ++i) {
      __builtin_prefetch(typed + static_cast<std::size_t>(at[i + kAhead]) * sizeof(double));
      one(i);
    }
  }
  for (; i < n; ++i) one(i);
}

// Structures, whose members are packed consecutively.
template <bool kPack, class Struct>
void structs(unsigned char* typed, unsigned char* packed, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    unsigned char* const one = typed + i * sizeof(Struct);
    move<kPack>(one + offsetof(Struct, kind), packed, sizeof(Struct::kind));
    packed += sizeof(Struct::kind);
    move<kPack>(one + offsetof(Struct, id), packed, sizeof(Struct::id));
    packed += sizeof(Struct::id);
    move<kPack>(one + offsetof(Struct, position), packed, sizeof(Struct::position));
    packed += sizeof(Struct::position);
    move<kPack>(one + offsetof(Struct, flags), packed, sizeof(Struct::flags));
    packed += sizeof(Struct::flags);
  }
}

// The inner block of a cube of doubles with one layer around it.
template <bool kPack>
void cube(unsigned char* typed, unsigned char* packed, std::size_t edge) {
  const std::size_t row = edge * sizeof(double);
  for (std::size_t z = 1; z <= edge; ++z) {
    for (std::size_t y = 1; y <= edge; ++y) {
      move<kPack>(typed + ((z * (edge + 2) + y) * (edge + 2) + 1) * sizeof(double), packed, row);
      packed += row;
    }
  }
}

}  // namespace bench::bare
