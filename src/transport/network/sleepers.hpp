// Sleepers: threads of this process that wait for a file descriptor or for one another.
//
// Each armed thread has its own bell, an event descriptor: wake() rings those of all armed threads. So no sleep misses
// a wake() that was called after its arm(), and a bell that its thread has not read yet does not keep other threads
// awake. A sleep may end spuriously.
//
// Owner: the transport. Threads: any; open() is called before all others.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "base/status.hpp"

namespace hr::transport::network {

class Sleepers {
 public:
  Sleepers() = default;
  ~Sleepers();
  Sleepers(const Sleepers&) = delete;
  Sleepers& operator=(const Sleepers&) = delete;

  // `arrivals`: a descriptor that is readable when something has arrived; not owned.
  Status open(int arrivals);
  [[nodiscard]] bool is_open() const noexcept { return !bells_.empty(); }

  // Returns the bell that this thread owns until disarm(); nullopt if the process has no descriptor left for a bell.
  [[nodiscard]] std::optional<std::uint32_t> arm();
  void sleep(std::uint32_t bell, double at_most_seconds) const noexcept;
  void disarm(std::uint32_t bell) noexcept;
  void wake() noexcept;

 private:
  struct Bell {
    int descriptor = -1;
    bool armed = false;
    bool rung = false;
  };

  bool add_bell();

  mutable std::mutex mutex_;
  std::deque<Bell> bells_;  // as many as the maximum number of threads armed at once
  int arrivals_ = -1;
};

}  // namespace hr::transport::network
