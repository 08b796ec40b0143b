// DriverEpoch: tells if the program may have used its devices since an earlier moment.
//
// An answer of the CUDA driver about a pointer or a stream stays true until the program calls the driver again, and
// asking costs microseconds. So answers are kept for a driver epoch: calls of this library that follow one another so
// closely that no driver call fits between them: in less than 3/4 of the time of the cheapest one that matters, which
// is to make a stream wait for an event (0.2 us on an H200's host; launches, copies, allocations and frees take 1 us
// and more). This works only if the program has promised that it has one thread (MPI_THREAD_SINGLE); with more, every
// call is a driver epoch of its own. A callback of the program also begins a new one.
//
// Owner: process-wide. Threads: library lock. Cost before track(): one predictable branch a call.
#pragma once

#include <cstdint>

namespace hr {

class DriverEpoch {
 public:
  // Starts tracking, at the first use of a device. `gap`: the longest time between two calls of one driver epoch, in
  // ticks() (base/clock.hpp). Called within a call of the library; called again for another device, it keeps the
  // shorter gap.
  static void track(std::uint64_t gap) noexcept;
  [[nodiscard]] static bool tracked() noexcept { return tracking_; }
  // Called if the program has more than one thread: no driver epoch lasts.
  static void set_multithreaded() noexcept { single_threaded_ = tracking_ = false; }

  // Returns the epoch's number, which is kept with an answer and compared later. Never 0.
  [[nodiscard]] static std::uint64_t current() noexcept { return single_threaded_ ? number_ : ++number_; }

  // Called when a call of the library begins and ends; the program's code has run in between.
  static void enter() noexcept {
    if (tracking_) [[unlikely]]
      enter_slow();
  }
  static void leave() noexcept {
    if (tracking_) [[unlikely]]
      leave_slow();
  }
  // Passes a callback's result on, and begins a new epoch.
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
