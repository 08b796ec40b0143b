// Steps: counters with which the members of an operation follow each other's progress.
//
// Every member constructs one Steps in the turn of each operation that counts steps, so that operations are counted in
// the same way everywhere. A word counts steps from the operation's own base; words of earlier operations are below the
// base, words of members that are further ahead are above. The comparison cannot go wrong: a word is at most one
// operation old, and an operation counts at most 2^32 - 1 steps. A member that leaves the operation, even with an
// error, counts as having done all steps, so no other waits for it. Owner: a local of the coroutine. Threads: library
// lock.
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

  // Publishes that this process has done `steps` of the steps that `word` counts.
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

// True once a member has done `wanted` steps.
struct StepReached {
  const Steps& steps;
  Word Control::* word;
  int rank;
  std::uint64_t wanted;
  bool operator()() const noexcept { return steps.reached(rank, word, wanted); }
};

// True once all other members have done `wanted` steps.
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
