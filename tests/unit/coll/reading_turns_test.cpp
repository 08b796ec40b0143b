#include "coll/shared/reading_turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace hr::coll::shared {
namespace {

constexpr std::size_t kShort = 20000;
constexpr std::size_t kLong = 1000000;

// One process that carries out operations of one kind, each way with a turn of its own length.
class Member {
 public:
  explicit Member(Operation operation = Operation::kAllgather, std::size_t bytes = kShort)
      : operation_(operation), bytes_(bytes) {}

  // True: by reading. `others`: how many of four others vote for it.
  bool next(int others, std::uint64_t slots, std::uint64_t reading) {
    const bool reads = turns_.reads(operation_, bytes_, ticket_, now_);
    EXPECT_EQ(turns_.reads(operation_, bytes_, ticket_, now_ + 1), reads) << "asked again";
    if (reads) turns_.decide(operation_, bytes_, 2 * (others + (turns_.votes(operation_, bytes_) ? 1 : 0)) > 5);
    ticket_ += 3;  // others come between
    now_ += reads ? reading : slots;
    return reads;
  }
  std::vector<bool> some(int count, int others, std::uint64_t slots, std::uint64_t reading) {
    std::vector<bool> all;
    for (int i = 0; i < count; ++i) all.push_back(next(others, slots, reading));
    return all;
  }
  ReadingTurns& turns() { return turns_; }

 private:
  ReadingTurns turns_;
  Operation operation_;
  std::size_t bytes_;
  std::uint64_t ticket_ = 7;
  std::uint64_t now_ = 1000;
};

std::vector<bool> trials(int turns) {
  std::vector<bool> expected(static_cast<std::size_t>(2 * turns + 1), true);
  std::fill_n(expected.begin(), turns, false);
  return expected;
}

TEST(ReadingTurns, TriesBothWaysThenReadsWhereThatIsFaster) {
  Member member;
  EXPECT_EQ(member.some(17, 2, 100, 60), trials(8));
  EXPECT_EQ(member.some(495, 2, 100, 60), std::vector<bool>(495, true));
  EXPECT_EQ(member.some(17, 2, 100, 60), trials(8)) << "the second time, after 512";
  EXPECT_EQ(member.some(2048 - 17, 2, 100, 60), std::vector<bool>(2048 - 17, true));
  EXPECT_EQ(member.some(17, 2, 100, 60), trials(8)) << "the third time";
}

TEST(ReadingTurns, ReadsNotWhereTurnsAreLongerOrAsLong) {
  for (const std::uint64_t reading : {98, 100, 300}) {
    Member member;
    EXPECT_EQ(member.some(17, 2, 100, reading), trials(8));
    EXPECT_EQ(member.some(495, 2, 100, reading), std::vector<bool>(495, false)) << reading;
  }
}

TEST(ReadingTurns, MajorityDecidesWhateverThisProcessFound) {
  Member for_it;
  static_cast<void>(for_it.some(17, 1, 100, 50));
  EXPECT_FALSE(for_it.next(1, 100, 50));
  Member against_it;
  static_cast<void>(against_it.some(17, 3, 100, 500));
  EXPECT_TRUE(against_it.next(3, 100, 500));
}

TEST(ReadingTurns, ChangesItsMindWhenTriedAgain) {
  Member member;
  static_cast<void>(member.some(512, 2, 100, 60));
  EXPECT_EQ(member.some(17, 2, 100, 250), trials(8));
  EXPECT_EQ(member.some(100, 2, 100, 250), std::vector<bool>(100, false));
}

// What else the machine does in some of the turns, and the long one in which a program begins something else.
TEST(ReadingTurns, TheShortestTurnsCount) {
  for (const std::uint64_t reading : {60, 140}) {
    for (int disturbed = 0; disturbed < 16; ++disturbed) {
      Member member;
      for (int i = 0; i < 17; ++i) {
        const std::uint64_t more = i == disturbed || i == 7 || i == 8 ? 100000 : 0;
        static_cast<void>(member.next(2, 100 + more, reading + more));
      }
      EXPECT_EQ(member.next(2, 100, reading), reading < 100) << disturbed;
    }
  }
}

// The turn that ends when the first operation reads is still one without.
TEST(ReadingTurns, TheLastTurnWithoutReadingIsNotCountedAsReading) {
  Member member;
  for (int i = 0; i < 17; ++i) static_cast<void>(member.next(2, i == 7 ? 1 : 100, 60));
  EXPECT_FALSE(member.next(2, 100, 60));
}

TEST(ReadingTurns, DecidesOnce) {
  ReadingTurns turns;
  for (std::uint64_t i = 0; i < 17; ++i) {
    static_cast<void>(turns.reads(Operation::kAllreduce, kShort, i, 10 * i));
  }
  turns.decide(Operation::kAllreduce, kShort, false);
  turns.decide(Operation::kAllreduce, kShort, true);
  EXPECT_FALSE(turns.reads(Operation::kAllreduce, kShort, 17, 170));
}

TEST(ReadingTurns, LongOnesAreTriedForFewerTurns) {
  Member member(Operation::kAlltoall, kLong);
  EXPECT_EQ(member.some(7, 2, 100, 60), trials(3));
  EXPECT_TRUE(member.next(2, 100, 60));
}

TEST(ReadingTurns, NobodyReadsWhereNoneCouldTellWhatItFound) {
  ReadingTurns turns;  // nothing is decided: somebody's buffer could not be read each time
  std::vector<bool> all;
  for (std::uint64_t i = 0; i < 40; ++i) all.push_back(turns.reads(Operation::kBcast, kShort, i, 10 * i));
  std::vector<bool> expected = trials(8);
  expected.resize(40, false);
  EXPECT_EQ(all, expected);
}

TEST(ReadingTurns, KindsAreApart) {
  Member member;
  static_cast<void>(member.some(18, 2, 100, 60));
  EXPECT_FALSE(member.turns().reads(Operation::kAllgather, 4 * kShort, 1, 1)) << "longer";
  EXPECT_FALSE(member.turns().reads(Operation::kAlltoall, kShort, 2, 2)) << "another operation";
  EXPECT_TRUE(member.turns().reads(Operation::kAllgather, kShort + 1, 1000, 1000000)) << "of the same length";
}

}  // namespace
}  // namespace hr::coll::shared
