// Parts of the page of counters: counters that each thread and each channel keeps separately (p2p/channel.hpp).
//
// counters::page is written under the library lock, which calls on channels, and accesses to windows that need no lock,
// do not take. Such calls count in parts that follow the page in the same memory file: each thread has its own part,
// and so has each channel, which writes it under the channel's lock. So a part has one writer at a time, and counting
// in it takes no lock and no atomic operation. A counter's value is the sum of the values in the page and all parts
// (for a high-water mark, the highest). Readers add them up: inside the process with total(), outside it by the
// description in the page (counters_text.cpp).
//
// A thread takes a part on its first call on a channel and returns it when it ends; the counts stay in the part, and
// the next thread adds to them. A thread or channel that finds no free part, because there are too many or memory is
// lacking, counts in its own memory, which is added to the first part when the thread or channel ends. Owner:
// process-wide, until its end. Threads: any may take and return parts; each part as above. Memory order: none
// between values. TSan sees relaxed atomic operations.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/counters.hpp"

namespace hr::counters {

inline constexpr std::size_t kParts = 128;
// Number of parts reserved for channels: threads do not take them.
inline constexpr std::size_t kPartsOfChannels = 33;
// Space for the functions that channels execute, which are numbered separately (`place` below).
inline constexpr std::size_t kPlaces = 64;

// Messages to a process, and waits for it; uses the same row number as the page.
struct PeerPart {
  Amount sent;  // the program's
  Value waits;
  Value waited;
};

struct alignas(kPageAlignment) Part {
  // Values of a thread.
  Now now;
  Value place;  // the function that the thread is in
  Value waits;
  Value waited;
  Value longest_wait;
  // Values of a channel.
  Level posted;
  Level unexpected;
  Level unexpected_bytes;
  Value unexpected_messages;
  Amount rendezvous;
  Amount received[kProtocols];
  Value sizes[kSizes];
  // Values of either.
  Value statistics[kStatisticPlaces];
  // Values of a thread.
  Function functions[kPlaces];
  Value waited_in[kPlaces];
  Amount accesses[kAccesses];
  // Values of a thread that readers do not use, as in Page.
  Value stands_for[kPlaces];
  Value timed;  // the place of the call that is timed now; 0: none
  Value timed_since;
  Value waited_before;
  // Sent messages (of a channel) and waits (of a thread), by peer.
  PeerPart peers[kPeers];
};

// Part of the file after the page. The page's head contains the number of used parts.
struct alignas(kPageAlignment) Parts {
  Part part[kParts];
};
inline constinit Parts parts{};

namespace detail {
inline std::atomic<std::size_t> parts_used{0};
// One word, so that it fits into the static thread-local storage of the initial-exec model.
__attribute__((tls_model("initial-exec"))) inline constinit thread_local Part* own = nullptr;
}  // namespace detail

// Adds to a value of a part, which only its owner changes.
inline void add_to(Value& value, Value amount) noexcept {
#ifdef __SANITIZE_THREAD__
  std::atomic_ref<Value> shared(value);
  shared.store(shared.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
#else
  value += amount;
#endif
}
inline void set(Value& value, Value to) noexcept {
#ifdef __SANITIZE_THREAD__
  std::atomic_ref<Value>(value).store(to, std::memory_order_relaxed);
#else
  value = to;
#endif
}
inline void add_to(Amount& amount, Value bytes) noexcept {
  add_to(amount.count, 1);
  asm("" : "+m"(amount.count));  // keeps the stores separate, as in Amount::add()
  add_to(amount.bytes, bytes);
}
inline void raise(Level& level) noexcept {
  if (level.now > level.most) set(level.most, level.now);
}

// Returns a part for a channel. give_back() keeps the counts in the part, and the next channel adds to them.
Part& take_part() noexcept;
void give_back(Part& part) noexcept;
// Returns the number of threads that have a part. Threads: any.
[[nodiscard]] int threads_with_parts() noexcept;
// Returns the part of this thread.
[[gnu::noinline]] Part& take_own_part() noexcept;
inline Part& own_part() noexcept {
  Part* const own = detail::own;
  return own != nullptr ? *own : take_own_part();
}

// Counts a message as it is sent; `to_process`: the part's amount for the destination.
inline void count_sent(Part& of_channel, Amount& to_process, std::size_t bytes) noexcept {
  add_to(to_process, bytes);
  add_to(of_channel.sizes[63U ^ static_cast<unsigned>(std::countl_zero(static_cast<Value>(bytes | 1)))], 1);
}

// Begin and end the count of a wait of this thread that has become long, as in counters.hpp.
[[nodiscard]] bool begin_wait(Part& of_thread, int process) noexcept;
void end_wait(Part& of_thread, int process) noexcept;

// Time a call of this thread; only some calls are timed.
void begin_timing(Part& part, std::size_t place) noexcept;
void end_timing(Part& part) noexcept;

// Counts one call of this thread that a channel executes. Owner: the body of the call.
class ChannelCall {
 public:
  ChannelCall(std::size_t number, std::size_t place) noexcept : part_(own_part()), place_(place) {
    Function& own = part_.functions[place];
    add_to(own.calls, 1);
    if (own.calls > own.timed_next) [[unlikely]]
      begin_timing(part_, place);
    set(part_.place, place);
    set(part_.now.function, number);
  }
  ~ChannelCall() {
    if (part_.timed == place_) [[unlikely]]
      end_timing(part_);
    set(part_.now.function, 0);
  }
  ChannelCall(const ChannelCall&) = delete;
  ChannelCall& operator=(const ChannelCall&) = delete;

  // Counts the bytes of a message that the call sends.
  void sends(std::size_t bytes) noexcept { add_to(part_.functions[place_].bytes, bytes); }
  // Counts the operation on a window that the call executes.
  void accesses(Access access, std::size_t bytes) noexcept {
    add_to(part_.accesses[static_cast<std::size_t>(access)], bytes);
  }
  // Undoes the count: the call turns out to be for channel 0, which counts it.
  void withdraw() noexcept { add_to(part_.functions[place_].calls, ~Value{0}); }

 private:
  // The object stays in registers, as no function takes its address.
  Part& part_;
  const std::size_t place_;
};

// Returns the value of a counter: `of_page`, its value in the page, plus of(part), its value in a part, for all parts.
template <class Of>
[[nodiscard]] Value total(Value of_page, Of&& of) noexcept {
  const std::size_t used = detail::parts_used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i)
    of_page += std::atomic_ref<Value>(of(parts.part[i])).load(std::memory_order_relaxed);
  return of_page;
}
template <class Of>
[[nodiscard]] Value highest(Value of_page, Of&& of) noexcept {
  const std::size_t used = detail::parts_used.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    const Value here = std::atomic_ref<Value>(of(parts.part[i])).load(std::memory_order_relaxed);
    of_page = here > of_page ? here : of_page;
  }
  return of_page;
}

}  // namespace hr::counters
