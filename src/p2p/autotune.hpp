// Autotune: measures in the program itself which of two ways is faster for messages of one class, where no model can
// tell. (Reading another process's memory costs much in virtual machines, and gains on other machines; and it depends
// on whether the program writes what it sends and reads what it receives.)
//
// Both ways are tried, one after the other: some forty messages each, fewer if they are long, or that many windows if
// many are pending at once. The least sample of each counts, since a process may lose its core in one. The way changes
// when no timed message is pending.
//
// Two times count. Transfer: from the match of a ready-to-send message, or from the end of the one before it, to the
// end of its message. And the interval from the end of one message to the end of the next: a message that was read
// leaves its lines with the wrong core, and the program's own loads and stores fetch them back, which is not seen while
// the message is pending. If the program computes for long between messages, the intervals tell nothing of them.
//
// A program changes, so a choice is measured again: after so many messages (a power of two) that the cost of trying the
// losing way is less than 1 % of theirs, and after twice as many each time it is confirmed, up to kMostBetween.
// Between measurements a message costs a count.
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
  // Messages from a choice to the next measurement.
  static constexpr std::uint64_t kLeastBetween = std::uint64_t{1} << 10;
  static constexpr std::uint64_t kMostBetween = std::uint64_t{1} << 16;

  // Both ways by name, in the order of preference if they are about equal.
  Autotune(const char* first, const char* second) noexcept : names_{first, second} {}

  // Returns the way of a message that begins now: 0 or 1.
  [[nodiscard]] unsigned way() const noexcept { return way_; }
  [[nodiscard]] const char* name() const noexcept { return names_[way_]; }
  [[nodiscard]] bool decided() const noexcept { return phase_ == Phase::kDecided; }
  [[nodiscard]] bool under_way() const noexcept { return under_way_ != 0; }

  // Begins a message, by way(). True: it is timed, and end() or drop() is to be called for it.
  [[nodiscard]] bool begin(std::uint64_t now) {
    if (decided()) [[likely]] {
      if (++since_choice_ < between_) return false;
      try_again();
    }
    if (under_way_++ == 0) since_ = now;
    return true;
  }
  // Ends a timed message. True: a choice was made.
  bool end(std::size_t bytes, std::uint64_t now);
  // Forgets a timed message that did not go by way() after all.
  void drop() noexcept {
    if (--under_way_ == 0) sample_ = {};
  }

  // Cost of a way for each byte; kUnknown: not known.
  struct Cost {
    double transfer = kUnknown;
    double interval = kUnknown;
  };
  // Returns what the second way saves, as a part of the first one's transfer time; negative if the first one is faster.
  [[nodiscard]] static double saved(const Cost& first, const Cost& second) noexcept;
  [[nodiscard]] double saved() const noexcept { return saved(costs_[0], costs_[1]); }
  // Messages from the last choice to the next measurement.
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
  std::uint8_t settled_on_ = 0;  // by the last choice; 0 before the first
  bool second_half_ = false;     // the way that was tried first is known
  bool has_chosen_ = false;      // there has been a choice
  int under_way_ = 0;            // timed messages that began and have not ended
  int samples_ = 0;              // of this way
  std::size_t bytes_ = 0;        // settled, or sampled
  std::size_t messages_ = 0;     // settled
  std::uint64_t tried_ = 0;      // messages by the way that is not settled on, in this measurement
  std::uint64_t since_choice_ = 0;
  std::uint64_t between_ = kLeastBetween;
  std::uint64_t since_ = 0;     // end of the last timed message, or start of the first
  std::uint64_t last_end_ = 0;  // end of the last timed message
  Sample sample_;
  std::array<Cost, 2> costs_;
};

}  // namespace hr::p2p
