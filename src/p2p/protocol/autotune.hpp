// Autotune: measures at run time, in the program itself, which of two protocols is faster for messages of one class,
// where no model can predict it. (Reading another process's memory is slow in virtual machines, but pays on other
// machines; and the gain depends on whether the program writes what it sends and reads what it receives.)
//
// Both protocols are tried in turn: for some forty messages each, fewer if they are long, or for as many windows of
// messages if many are in flight at once. The fastest sample of each counts, as the process may lose its core during a
// sample. The protocol changes only while no timed message is pending.
//
// Measures two times. Transfer time: from the match of the RTS to the end of the message; if several timed messages are
// in progress at once, the first to end counts from the first match, and each other one from the end of the message
// that ended before it. Interval: from the end of one message to the end of the next. A message that was read remotely
// leaves its cache lines with the wrong core, and the program's own loads and stores fetch them back, which the
// transfer time does not include. If the program computes for long between messages, the intervals say nothing about
// the protocols.
//
// A program changes, so a choice is measured again: after enough messages (a power of two) that trying the losing
// protocol costs less than 1 % of their time, and after twice as many each time the choice is confirmed, up to
// kMostBetween. Between measurements, the cost per message is that of a counter.
// Owner: a Choice (choice.hpp). Threads: library lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace hr::p2p {

class Autotune {
 public:
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();
  // Number of messages from a choice to the next measurement: the minimum, and the maximum that doubling can reach.
  static constexpr std::uint64_t kLeastBetween = std::uint64_t{1} << 10;
  static constexpr std::uint64_t kMostBetween = std::uint64_t{1} << 16;

  // Takes the names of both protocols; the first one is preferred if they are about equally fast.
  Autotune(const char* first, const char* second) noexcept : names_{first, second} {}

  // Returns the index of the protocol of a message that begins now: 0 or 1.
  [[nodiscard]] unsigned way() const noexcept { return way_; }
  [[nodiscard]] const char* name() const noexcept { return names_[way_]; }
  [[nodiscard]] bool decided() const noexcept { return phase_ == Phase::kDecided; }
  [[nodiscard]] bool under_way() const noexcept { return under_way_ != 0; }

  // Begins a message that uses way(). True if it is timed; end() or drop() must then be called for it.
  [[nodiscard]] bool begin(std::uint64_t now) {
    if (decided()) [[likely]] {
      if (++since_choice_ < between_) return false;
      try_again();
    }
    if (under_way_++ == 0) since_ = now;
    return true;
  }
  // Ends a timed message. True if a choice was made.
  bool end(std::size_t bytes, std::uint64_t now);
  // Forgets a timed message that did not use way() after all.
  void drop() noexcept {
    if (--under_way_ == 0) sample_ = {};
  }

  // Cost per byte of one of the two protocols.
  struct Cost {
    double transfer = kUnknown;
    double interval = kUnknown;
  };
  // Returns the time that the second protocol saves, as a fraction of the first one's transfer time; negative if the
  // first is faster.
  [[nodiscard]] static double saved(const Cost& first, const Cost& second) noexcept;
  [[nodiscard]] double saved() const noexcept { return saved(costs_[0], costs_[1]); }
  // Returns the number of messages from the last choice to the next measurement.
  [[nodiscard]] std::uint64_t between() const noexcept { return between_; }

 private:
  enum class Phase : std::uint8_t { kSettle, kSample, kDecided };
  struct Sample {
    std::uint64_t transfer = 0;
    std::uint64_t intervals = 0;
    std::size_t bytes = 0;
    std::size_t messages = 0;
  };

  void start(unsigned way, Phase phase) noexcept;
  void try_again() noexcept;
  void settle(const Sample& sample) noexcept;
  bool add(const Sample& sample) noexcept;
  void decide() noexcept;

  std::array<const char*, 2> names_;
  Phase phase_ = Phase::kSettle;
  std::uint8_t way_ = 0;
  std::uint8_t settled_on_ = 0;  // the protocol last chosen; 0 before the first choice
  bool second_half_ = false;     // the protocol tried first has been measured
  bool has_chosen_ = false;      // true after the first choice
  int under_way_ = 0;            // timed messages that began and have not ended
  int samples_ = 0;              // number of samples of this protocol
  std::size_t bytes_ = 0;        // bytes settled or sampled so far
  std::size_t messages_ = 0;     // messages settled so far
  std::uint64_t tried_ = 0;      // messages with the other protocol in this measurement
  std::uint64_t since_choice_ = 0;
  std::uint64_t between_ = kLeastBetween;
  std::uint64_t since_ = 0;     // end of the last timed message, or start of the first
  std::uint64_t last_end_ = 0;  // end of the last timed message
  Sample sample_;
  std::array<Cost, 2> costs_;
};

}  // namespace hr::p2p
