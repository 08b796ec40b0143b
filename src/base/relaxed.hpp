// Relaxed: a value that threads may read while another one writes it, for values whose order with others does not
// matter. Costs what a plain variable does. Threads: any. Memory order: relaxed.
#pragma once

#include <atomic>

namespace hr {

template <class T>
class Relaxed {
 public:
  constexpr Relaxed(T value) noexcept : value_(value) {}  // NOLINT(google-explicit-constructor): stands for the value
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;
  Relaxed& operator=(T value) noexcept {
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator T() const noexcept { return value_.load(std::memory_order_relaxed); }  // NOLINT(google-explicit-constructor)

 private:
  std::atomic<T> value_;
};

}  // namespace hr
