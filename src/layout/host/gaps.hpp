// Loops for short segments with short gaps between them (one component of many, every other element): packing loads
// whole vectors and removes the gaps; unpacking inserts gaps and stores only the segments. Part of loops.hpp.
//
// Gaps are read but not used. This is safe, because a gap shorter than a page is in the pages of the adjacent segments,
// and loads never extend beyond the last segment. Gaps are never written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/count.hpp"
#include "layout/host/vector.hpp"

namespace hr::layout::host {
namespace {

// kLeastGapped: minimum number of segments for which these loops pay. kManyGapped: minimum number for which it also
// pays to align stores to cache lines and to prefetch them (kMany; short calls must not pay for that).
template <std::size_t N>
constexpr Count kLeastGapped = static_cast<Count>(128 / N);
template <std::size_t N>
constexpr Count kManyGapped = static_cast<Count>(4096 / N);

#if defined(__SANITIZE_THREAD__)
constexpr bool kMayReadGaps = false;  // another thread may be writing them
#else
constexpr bool kMayReadGaps = true;
#endif

#if defined(__AVX512BW__) && defined(__AVX512VL__)

// Works on words of 4 bytes: one dense vector corresponds to up to four vectors with gaps.
constexpr Count kWords = 16;

// Permutations that remove and insert gaps, for segments of one length (`run` words) and one stride (`stride` words).
struct alignas(64) GapMap {
  std::int32_t gather[kWords] = {};      // dense word: its gapped word
  std::int32_t scatter[4][kWords] = {};  // gapped word: its dense word
  std::uint16_t upper = 0;               // dense words from the third and fourth vector
  std::uint16_t runs[4] = {};            // gapped words that belong to segments
  int vectors = 0;                       // number of vectors of the gapped side
};

constexpr GapMap gap_map(Count run, Count stride) {
  GapMap map;
  for (Count word = 0; word < kWords; ++word) {
    const Count place = word / run * stride + word % run;
    map.gather[word] = static_cast<std::int32_t>(place);
    if (place >= 2 * kWords) map.upper = static_cast<std::uint16_t>(map.upper | 1U << word);
    map.scatter[place / kWords][place % kWords] = static_cast<std::int32_t>(word);
    map.runs[place / kWords] = static_cast<std::uint16_t>(map.runs[place / kWords] | 1U << place % kWords);
    map.vectors = static_cast<int>(place / kWords) + 1;
  }
  return map;
}

// Largest stride for which these loops pay: four times the segment for segments of 4 and 8 bytes, twice for 16.
template <std::size_t N>
constexpr Count kMostStride = N == 16 ? 32 : 4 * N;

template <std::size_t N>
struct GapMaps {
  static constexpr Count kRun = N / 4;
  static constexpr Count kMaps = kMostStride<N> / 4 - kRun;
  GapMap maps[kMaps];
  constexpr GapMaps() {
    for (Count i = 0; i < kMaps; ++i) maps[i] = gap_map(kRun, kRun + 1 + i);
  }
  [[nodiscard]] const GapMap& of(Count stride) const { return maps[stride / 4 - kRun - 1]; }
};
template <std::size_t N>
constexpr GapMaps<N> kGapMaps{};

template <std::size_t N>
inline bool fits_map(Count stride) {
  return stride > static_cast<Count>(N) && stride <= kMostStride<N> && stride % 4 == 0;
}
template <std::size_t N>
inline bool closes_gaps(Count stride) {
  return kMayReadGaps && fits_map<N>(stride);
}
template <std::size_t N>
inline bool opens_gaps(Count stride) {
  return fits_map<N>(stride);
}

template <int kVectors, bool kPrefetch>
inline void close_steps(std::byte* to, const std::byte* from, Count step, Count steps, const GapMap& map) {
  const __m512i gather = _mm512_load_si512(map.gather);
  const __mmask16 upper = map.upper;
  for (; steps > 0; --steps) {
    if constexpr (kPrefetch) {
      for (int i = 0; i < kVectors; ++i) prefetch(from + 64 * i + kAhead);
    }
    const __m512i first = _mm512_loadu_si512(from);
    const __m512i second = _mm512_loadu_si512(from + 64);
    __m512i dense = _mm512_permutex2var_epi32(first, gather, second);
    if constexpr (kVectors == 3) {
      dense = _mm512_mask_permutexvar_epi32(dense, upper, gather, _mm512_loadu_si512(from + 128));
    } else if constexpr (kVectors == 4) {
      const __m512i rest =
          _mm512_permutex2var_epi32(_mm512_loadu_si512(from + 128), gather, _mm512_loadu_si512(from + 192));
      dense = _mm512_mask_mov_epi32(dense, upper, rest);
    }
    _mm512_storeu_si512(to, dense);
    to += 64;
    from += step;
  }
}

template <int kVectors>
inline void close_steps(bool far, std::byte* to, const std::byte* from, Count step, Count steps, const GapMap& map) {
  if (far) {
    close_steps<kVectors, true>(to, from, step, steps, map);
  } else {
    close_steps<kVectors, false>(to, from, step, steps, map);
  }
}

// Packs up to n segments `stride` apart; returns how many were moved.
template <std::size_t N, bool kMany>
inline Count close_gaps(std::byte* to, const std::byte* from, Count stride, Count n) {
  constexpr Count kRuns = 64 / N;
  const GapMap& map = kGapMaps<N>.of(stride);
  Count steps = n / kRuns;
  // The last step may not load beyond the last segment.
  if ((steps - 1) * kRuns * stride + map.vectors * 64 > (n - 1) * stride + static_cast<Count>(N)) --steps;
  const Count step = kRuns * stride;
  // Loads from beyond the second-level cache need no prefetch here, because the hardware prefetches them just as well.
  const bool far = kMany && n * stride >= kBeyondFirst && n * stride < 2 * kFar;
  if (map.vectors == 2) {
    close_steps<2>(far, to, from, step, steps, map);
  } else if (map.vectors == 3) {
    close_steps<3>(far, to, from, step, steps, map);
  } else {
    close_steps<4>(far, to, from, step, steps, map);
  }
  return steps * kRuns;
}

template <int kVectors, bool kPrefetch>
inline void open_steps(std::byte* to, const std::byte* from, Count step, Count steps, const GapMap& map) {
  __m512i scatter[kVectors];
  for (int i = 0; i < kVectors; ++i) scatter[i] = _mm512_load_si512(map.scatter[i]);
  for (; steps > 0; --steps) {
    const __m512i dense = _mm512_loadu_si512(from);
    for (int i = 0; i < kVectors; ++i) {
      if constexpr (kPrefetch) prefetch(to + 64 * i + kAhead);
      const __mmask16 runs = map.runs[i];
      _mm512_mask_storeu_epi32(to + 64 * i, runs, _mm512_maskz_permutexvar_epi32(runs, scatter[i], dense));
    }
    to += step;
    from += 64;
  }
}

template <int kVectors>
inline void open_steps(bool far, std::byte* to, const std::byte* from, Count step, Count steps, const GapMap& map) {
  if (far) {
    open_steps<kVectors, true>(to, from, step, steps, map);
  } else {
    open_steps<kVectors, false>(to, from, step, steps, map);
  }
}

template <std::size_t N, bool kMany>
inline Count open_gaps(std::byte* to, Count stride, const std::byte* from, Count n) {
  constexpr Count kRuns = 64 / N;
  const GapMap& map = kGapMaps<N>.of(stride);
  const Count steps = n / kRuns;
  const Count step = kRuns * stride;
  const bool far = kMany && n * stride >= kBeyondFirst;
  if (map.vectors == 2) {
    open_steps<2>(far, to, from, step, steps, map);
  } else if (map.vectors == 3) {
    open_steps<3>(far, to, from, step, steps, map);
  } else {
    open_steps<4>(far, to, from, step, steps, map);
  }
  return steps * kRuns;
}

#elif defined(__AVX2__)

// Used only for every other element, and only to remove gaps, because masked stores are slow on many processors without
// AVX-512.
template <std::size_t N>
inline bool closes_gaps(Count stride) {
  return kMayReadGaps && stride == static_cast<Count>(2 * N);
}
template <std::size_t N>
inline bool opens_gaps(Count) {
  return false;
}

template <std::size_t N>
inline __m256i without_gaps(__m256i first, __m256i second) {
  if constexpr (N == 16) {
    return _mm256_permute2x128_si256(first, second, 0x20);
  } else if constexpr (N == 8) {
    return _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(first, second), 0xD8);
  } else {
    const __m256 both = _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), 0x88);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(both), 0xD8);
  }
}

template <std::size_t N, bool>
inline Count close_gaps(std::byte* to, const std::byte* from, Count, Count n) {
  constexpr Count kRuns = 32 / N;
  const Count steps = (n - 1) / kRuns;  // excludes the last segments, whose load would end in a gap
  for (Count i = steps; i > 0; --i) {
    const auto* vectors = reinterpret_cast<const __m256i*>(from);
    const __m256i dense = without_gaps<N>(_mm256_loadu_si256(vectors), _mm256_loadu_si256(vectors + 1));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), dense);
    to += 32;
    from += 64;
  }
  return steps * kRuns;
}

template <std::size_t N, bool>
inline Count open_gaps(std::byte*, Count, const std::byte*, Count) {
  return 0;
}

#else

template <std::size_t N>
inline bool closes_gaps(Count) {
  return false;
}
template <std::size_t N>
inline bool opens_gaps(Count) {
  return false;
}
template <std::size_t N, bool>
inline Count close_gaps(std::byte*, const std::byte*, Count, Count) {
  return 0;
}
template <std::size_t N, bool>
inline Count open_gaps(std::byte*, Count, const std::byte*, Count) {
  return 0;
}

#endif

}  // namespace
}  // namespace hr::layout::host
