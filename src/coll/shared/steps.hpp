// Steps: lets members that go through an operation together tell one another how far they are.
//
// Every member constructs one Steps in the turn of an operation that uses them, so that the operations are counted
// alike everywhere. A word counts steps from the operation's own base; words of earlier operations are below it, words
// of members that are further, above. The comparison is good for ever: a word is one operation old at most. Steps count
// up to 2^32 - 1 in an operation. A member that leaves the operation, even on an error, is through with all steps: no
// other waits for it. Owner: a local of the coroutine. Threads: library lock.
#pragma once

#include "coll/shared/wait.hpp"

namespace hr::coll::shared {

class Steps {
 public:
  explicit Steps(const Call& call) noexcept : segment_(*call.segment), base_(segment_.next_steps() << 32) {}
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;
  ~Steps() {
    advance(&Control::published, kAll);
    advance(&Control::consumed, kAll);
  }

  // Says that this process is through with `steps` steps of the kind that `word` counts.
  void advance(Word Control::* word, std::uint64_t steps) const noexcept {
    (segment_.control(segment_.rank()).*word).value.store(base_ + steps, std::memory_order_release);
  }
  [[nodiscard]] bool reached(int rank, Word Control::* word, std::uint64_t steps) const noexcept {
    const std::uint64_t there = (segment_.control(rank).*word).value.load(std::memory_order_acquire);
    return static_cast<std::int64_t>(there - (base_ + steps)) >= 0;
  }
  [[nodiscard]] Segment& segment() const noexcept { return segment_; }

 private:
  static constexpr std::uint64_t kAll = 0xffffffff;
  Segment& segment_;
  std::uint64_t base_;
};

// True once a member is so far.
struct StepReached {
  const Steps& steps;
  Word Control::* word;
  int rank;
  std::uint64_t wanted;
  bool operator()() const noexcept { return steps.reached(rank, word, wanted); }
};

// True once all others are.
struct StepsReached {
  const Steps& steps;
  Word Control::* word;
  std::uint64_t wanted;
  int next = 0;
  bool operator()() noexcept {
    for (; next < steps.segment().size(); ++next) {
      if (next != steps.segment().rank() && !steps.reached(next, word, wanted)) return false;
    }
    return true;
  }
};

}  // namespace hr::coll::shared
