// Sleepers: threads of this process that wait for a file descriptor or for one another.
//
// `state_` holds how many threads are armed, and how often wake() has ended the sleep of all that were. wake() writes
// as many tokens into an event descriptor as threads were armed then; each of those takes one, when it disarms. So no
// sleep misses a wake() that came after its arm(), and none takes the token of another. A sleep may end for no reason.
//
// Owner: the transport. Threads: any; open() before there are any.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/status.hpp"

namespace hr::transport::ucx {

class Sleepers {
 public:
  Sleepers() = default;
  ~Sleepers();
  Sleepers(const Sleepers&) = delete;
  Sleepers& operator=(const Sleepers&) = delete;

  // `arrivals`: readable when something has come; not owned.
  Status open(int arrivals);
  [[nodiscard]] bool is_open() const noexcept { return tokens_ >= 0; }

  // Each arm() is followed by one disarm() with what it returned, after a sleep() or without one.
  [[nodiscard]] std::uint32_t arm() noexcept;
  void sleep(double at_most_seconds) const noexcept;
  void disarm(std::uint32_t armed) noexcept;
  void wake() noexcept;

 private:
  static std::uint32_t armed_in(std::uint64_t state) noexcept { return static_cast<std::uint32_t>(state); }
  static std::uint32_t wakes_in(std::uint64_t state) noexcept { return static_cast<std::uint32_t>(state >> 32); }

  std::atomic<std::uint64_t> state_{0};  // low half: threads armed; high half: wakes
  int arrivals_ = -1;
  int tokens_ = -1;
};

}  // namespace hr::transport::ucx
