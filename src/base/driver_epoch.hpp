// DriverEpoch: shows whether the program may have used its devices since an earlier moment.
//
// A result of a device's driver about a pointer or a stream stays valid until the program calls the driver again, and a
// query costs microseconds. So results are kept for a driver epoch: a series of calls of this library that follow one
// another so closely that no driver call fits between them. The limit is 3/4 of the time of the cheapest driver call
// that matters: the call that makes a stream wait for an event (0.2 us on an H200's host; launches, copies, allocations
// and frees take 1 us and more). This works only if the program has promised that it has one thread
// (MPI_THREAD_SINGLE); with more threads, every call is a separate driver epoch. A callback into the program also
// begins a new one.
//
// Owner: process-wide. Threads: library lock. Cost before track(): one predictable branch per call.
#pragma once

#include <cstdint>

namespace hr {

class DriverEpoch {
 public:
  // Starts tracking, on the first use of a device. `gap`: maximum time between two calls of one driver epoch, in
  // ticks() (base/clock.hpp). Called within a call of the library; called again for another device, it keeps the
  // shorter gap.
  static void track(std::uint64_t gap) noexcept;
  [[nodiscard]] static bool tracked() noexcept { return tracking_; }
  // Called if the program has more than one thread: no driver epoch then outlasts a call.
  static void set_multithreaded() noexcept { single_threaded_ = tracking_ = false; }

  // Returns the epoch's number, never 0, to be stored with a result and compared later.
  [[nodiscard]] static std::uint64_t current() noexcept { return single_threaded_ ? number_ : ++number_; }

  // Called when a call of the library begins and ends; the program's code runs between calls.
  static void enter() noexcept {
    if (tracking_) [[unlikely]]
      enter_slow();
  }
  static void leave() noexcept {
    if (tracking_) [[unlikely]]
      leave_slow();
  }
  // Begins a new epoch after a callback. Returns the callback's result, `result`.
  template <class Result>
  static Result after_callback(Result result) noexcept {
    ++number_;
    return result;
  }

 private:
  static void enter_slow() noexcept;
  static void leave_slow() noexcept;

  static inline bool tracking_ = false;
  static inline bool single_threaded_ = true;
  static inline int depth_ = 0;  // calls from callbacks are calls within calls
  static inline std::uint64_t number_ = 1;
  static inline std::uint64_t left_ = 0;  // ticks
  static inline std::uint64_t gap_ = 0;   // ticks
};

}  // namespace hr
