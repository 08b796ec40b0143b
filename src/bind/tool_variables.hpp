// The performance variables of MPI_T (MPI 5.0 section 15.3.7): the library's statistics (base/statistics.hpp), and sums
// of its counters (base/counters.hpp). Owner: created on first use, for the lifetime of the process. Threads: library
// lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace hr::bind {

struct PerformanceVariable {
  enum class Kind : std::uint8_t { kLevel, kCounter, kHighWaterMark };
  std::string name;
  Kind kind;
  std::string sentence;
  std::uint64_t (*value)(std::size_t argument);
  std::size_t argument = 0;
};

[[nodiscard]] std::span<const PerformanceVariable> performance_variables();

}  // namespace hr::bind
