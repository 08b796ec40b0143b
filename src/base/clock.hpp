// Clocks: seconds since an arbitrary point, monotonic; and the pause of a spinning thread.
#pragma once

#include <cstdint>
#include <ctime>

namespace hr {

// Returns the time of MPI_Wtime (section 9.6): CLOCK_MONOTONIC, common to all processes on a node.
inline double now_seconds() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline double clock_resolution_seconds() noexcept {
  timespec time{};
  ::clock_getres(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Returns the processor's time-stamp counter, which has a fixed rate; for durations too short for the clock.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return static_cast<std::uint64_t>(now_seconds() * 1e9);
#endif
}

inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace hr
