// Buffered: counts bytes of communication buffers in the page of counters for as long as this object exists.
//
// Used by code that allocates and frees buffers, never on the path of a short message. Owner: the owner of the memory.
// Threads: one at a time per object; several objects may change one counter at once, since channels allocate without
// the library lock. Memory order: none.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/counters.hpp"

namespace hr {

inline void take_buffers(counters::Buffers of, std::size_t bytes) noexcept {
  counters::Level& level = counters::page.buffers[static_cast<std::size_t>(of)];
  const counters::Value now = std::atomic_ref(level.now).fetch_add(bytes, std::memory_order_relaxed) + bytes;
  const std::atomic_ref most(level.most);
  counters::Value known = most.load(std::memory_order_relaxed);
  while (known < now && !most.compare_exchange_weak(known, now, std::memory_order_relaxed)) {
  }
}
inline void give_back_buffers(counters::Buffers of, std::size_t bytes) noexcept {
  std::atomic_ref(counters::page.buffers[static_cast<std::size_t>(of)].now).fetch_sub(bytes, std::memory_order_relaxed);
}

class Buffered {
 public:
  explicit Buffered(counters::Buffers of) noexcept : of_(of) {}
  ~Buffered() { give_back(bytes_); }
  Buffered(const Buffered&) = delete;
  Buffered& operator=(const Buffered&) = delete;

  void take(std::size_t bytes) noexcept {
    bytes_ += bytes;
    take_buffers(of_, bytes);
  }
  void give_back(std::size_t bytes) noexcept {
    bytes_ -= bytes;
    give_back_buffers(of_, bytes);
  }
  // Raises the number of counted bytes to `bytes`, if it is lower.
  void raise(std::size_t bytes) noexcept {
    if (bytes > bytes_) [[unlikely]]
      take(bytes - bytes_);
  }

 private:
  counters::Buffers of_;
  std::size_t bytes_ = 0;
};

}  // namespace hr
