// Parts of the program streams: each is one test, by the file that contains it.
#pragma once

#include <vector>

#include "lane.hpp"

namespace streams {

inline constexpr unsigned kSlow = 200000;
inline constexpr Word kPoison = 0xA5A5A5A5u;

inline Word value_of(int rank, int round) { return static_cast<Word>(rank * 1000003 + round * 7919); }

inline void poison(Buffer& buffer) { buffer.put(std::vector<Word>(buffer.size() / sizeof(Word), kPoison)); }

// abandoned.cpp
void abandoned(const Kernels& kernels);
// rings.cpp
void memory(const Kernels& kernels);
void kinds_of_streams(const Kernels& kernels);
void cold(const Kernels& kernels);
// matched.cpp
void matched(const Kernels& kernels);
void waiting(const Kernels& kernels);
// refused.cpp
void refused_in_capture(const Kernels& kernels);
void declined(const Kernels& kernels);
void errors(const Kernels& kernels);

}  // namespace streams
