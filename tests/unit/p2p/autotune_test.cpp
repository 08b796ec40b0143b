// Autotune: the number of messages before the other method is used, the final choice, and the time at which it is
// tested again. The test provides the clock.
#include "p2p/protocol/autotune.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace hr::p2p {
namespace {

constexpr double kUnknown = Autotune::kUnknown;

TEST(AutotuneCosts, WithoutIntervalsTheTransferTimeDecides) {
  EXPECT_DOUBLE_EQ(Autotune::saved({10, kUnknown}, {10, kUnknown}), 0);
  EXPECT_DOUBLE_EQ(Autotune::saved({10, kUnknown}, {7.5, kUnknown}), 0.25);
  EXPECT_DOUBLE_EQ(Autotune::saved({10, 30}, {7.5, kUnknown}), 0.25);
  EXPECT_DOUBLE_EQ(Autotune::saved({10, kUnknown}, {12, 20}), -0.2);
  EXPECT_EQ(Autotune::saved({10, 30}, {kUnknown, kUnknown}), -kUnknown);
}

// A program fetches data back into its caches after another process has read it; the transfer time does not include
// that.
TEST(AutotuneCosts, IntervalsDecideWhereTheyAreKnown) {
  EXPECT_DOUBLE_EQ(Autotune::saved({10, 40}, {12, 30}), 1);
  EXPECT_DOUBLE_EQ(Autotune::saved({10, 40}, {12, 39}), 0.1);
  EXPECT_DOUBLE_EQ(Autotune::saved({10, 20}, {5, 25}), -0.5);
}

// The computing time between messages varies.
TEST(AutotuneCosts, LongIntervalsAreIgnored) {
  EXPECT_DOUBLE_EQ(Autotune::saved({10, 1000}, {12, 900}), -0.2);
  EXPECT_DOUBLE_EQ(Autotune::saved({10, 1000}, {7, 1100}), 0.3);
}

// A program that sends one message at a time; each method takes a given time.
class Program {
 public:
  explicit Program(std::size_t bytes) : bytes_(bytes) {}
  void takes(std::uint64_t first, std::uint64_t second) { takes_[0] = first, takes_[1] = second; }
  // Sets the computing time between two messages.
  void computes(std::uint64_t after_first, std::uint64_t after_second) {
    computes_[0] = after_first, computes_[1] = after_second;
  }
  // Transfers a message, and returns the method used.
  unsigned transfer(std::uint64_t late = 0) {
    const bool timed = autotune.begin(now_);
    const unsigned way = autotune.way();
    now_ += takes_[way] + late;
    if (timed) autotune.end(bytes_, now_);
    now_ += computes_[way];
    return way;
  }
  // Transfers messages, and returns how many use the first method.
  int first_of(int messages) {
    int first = 0;
    for (int i = 0; i < messages; ++i) first += transfer() == 0 ? 1 : 0;
    return first;
  }
  // Transfers until there is a new choice.
  void decide() {
    while (autotune.decided()) transfer();
    while (!autotune.decided()) transfer();
  }
  [[nodiscard]] std::uint64_t now() const { return now_; }

  Autotune autotune{"first", "second"};

 private:
  std::size_t bytes_;
  std::uint64_t now_ = 1'000'000'000;
  std::uint64_t takes_[2]{};
  std::uint64_t computes_[2]{};
};

struct Sizes {
  std::size_t bytes;
  int messages;  // each way
};
class FirstAutotune : public testing::TestWithParam<Sizes> {};

// Measures the first method, then the second. Then there are no measurements for some time, whatever the result.
TEST_P(FirstAutotune, TakesSoManyMessages) {
  const auto [bytes, messages] = GetParam();
  for (const bool second_is_faster : {true, false}) {
    Program program(bytes);
    program.takes(second_is_faster ? 100 : 90, second_is_faster ? 50 : 100);
    EXPECT_EQ(program.first_of(messages), messages);
    EXPECT_EQ(program.first_of(messages), 0);
    EXPECT_TRUE(program.autotune.decided());
    EXPECT_EQ(program.first_of(1000), second_is_faster ? 0 : 1000);
  }
}
// Messages for settling and for samples: 1 and 1, 2 and 8, 32 and 8.
INSTANTIATE_TEST_SUITE_P(Sizes, FirstAutotune,
                         testing::Values(Sizes{std::size_t{64} << 20, 2}, Sizes{std::size_t{1} << 20, 10},
                                         Sizes{40000, 40}, Sizes{20000, 40}));

// Samples taken while a process has lost its core do not determine the choice.
TEST(Autotune, TheLeastSampleCounts) {
  Program program(1000000);
  program.takes(100, 10);
  for (int i = 0; i < 24; ++i) program.transfer(i % 3 == 0 ? 2000 : 0);
  EXPECT_TRUE(program.autotune.decided());
  EXPECT_EQ(program.autotune.way(), 1U);
}

TEST(Autotune, TheSecondWayMustSaveAPartToBeTaken) {
  for (const unsigned second : {90U, 80U}) {
    Program program(40000);
    program.takes(100, second);
    program.decide();
    EXPECT_EQ(program.autotune.way(), second == 80 ? 1U : 0U) << second;
  }
}

// Several pending messages at once.
class Window {
 public:
  explicit Window(std::size_t bytes) : bytes_(bytes) {}
  // `first`, `others`: the time until the first message ends, and the times between the ends of the following ones.
  void transfer(std::uint64_t first, std::uint64_t others) {
    const unsigned way = autotune.way();
    for (int i = 0; i < kMessages; ++i) EXPECT_TRUE(autotune.begin(now_));
    now_ += first;
    for (int i = 0; i < kMessages; ++i) {
      EXPECT_EQ(autotune.way(), way) << "the way changes while messages are under way";
      autotune.end(bytes_, now_);
      now_ += others;
    }
  }
  Autotune autotune{"first", "second"};

 private:
  static constexpr int kMessages = 5;
  std::size_t bytes_;
  std::uint64_t now_ = 1'000'000'000;
};

// The first window is for settling, and the second is the sample.
TEST(Autotune, AWayDoesNotChangeWhileMessagesAreUnderWay) {
  Window window(10000000);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(window.autotune.way(), 0U);
    window.transfer(10, 10);
  }
  EXPECT_EQ(window.autotune.way(), 1U);
}

// Reads all end at once, after one and a half times the time of the last streamed message, so single messages do not
// show which method is faster.
TEST(Autotune, AWindowIsTimedAsAWhole) {
  Window window(1000000);
  while (!window.autotune.decided()) {
    const bool first = window.autotune.way() == 0;
    window.transfer(first ? 1500 : 200, first ? 0 : 200);
  }
  EXPECT_EQ(window.autotune.way(), 1U);
}

// Messages that take a different path are not timed.
TEST(Autotune, ADroppedMessageTellsNothing) {
  Program program(40000);
  program.takes(100, 50);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(program.autotune.begin(program.now()));
    program.autotune.drop();
  }
  EXPECT_EQ(program.autotune.way(), 0U);
  EXPECT_EQ(program.first_of(40), 40);
  EXPECT_EQ(program.autotune.way(), 1U);
}

// --- Repeated measurements ---

// The program starts to touch its data, which the intervals show. The change is detected within twice the number of
// messages sent before it, or twice the minimum distance, and the messages of the measurements.
TEST(Autotune, AProgramThatChangesIsFoundOut) {
  for (const int before : {0, 500, 3000, 20000}) {
    Program program(65536);
    program.takes(100, 150);
    program.computes(10, 10);
    program.decide();
    EXPECT_EQ(program.autotune.way(), 0U);
    EXPECT_EQ(program.first_of(before) > before * 9 / 10 || before == 0, true);
    program.computes(400, 100);
    const int bound = 2 * std::max(before, static_cast<int>(Autotune::kLeastBetween)) + 200;
    program.first_of(bound);
    EXPECT_EQ(program.autotune.way(), 1U) << before;
    EXPECT_EQ(program.first_of(500), 0);
    // Back again.
    program.computes(10, 10);
    program.decide();
    EXPECT_EQ(program.autotune.way(), 0U) << before;
  }
}

// `times`: factor by which the other method is slower.
TEST(Autotune, MeasuringCostsLessThanOnePercent) {
  for (const unsigned times : {1U, 2U, 4U, 20U, 100U}) {
    Program program(40000);
    program.takes(100, 100 * times);
    program.decide();
    const std::uint64_t begin = program.now();
    // Performs some measurements, the first at the minimum distance.
    std::uint64_t messages = 0;
    for (int rounds = 0; rounds < 3; ++rounds) {
      while (program.autotune.decided()) program.transfer(), ++messages;
      while (!program.autotune.decided()) program.transfer(), ++messages;
      EXPECT_EQ(program.autotune.way(), 0U);
    }
    const auto ideal = static_cast<double>(100 * messages);
    EXPECT_LE(static_cast<double>(program.now() - begin), 1.01 * ideal) << times << " times";
  }
}

TEST(Autotune, TheDistanceGrowsWhileTheChoiceIsConfirmed) {
  Program program(40000);
  program.takes(100, 100);
  std::uint64_t before = 0;
  for (int rounds = 0; rounds < 12; ++rounds) {
    program.decide();
    const std::uint64_t between = program.autotune.between();
    EXPECT_TRUE(std::has_single_bit(between));
    EXPECT_LE(between, Autotune::kMostBetween);
    EXPECT_TRUE(between == 2 * before || before == 0 || between == Autotune::kMostBetween) << before << " " << between;
    before = between;
  }
  EXPECT_EQ(before, Autotune::kMostBetween);
  program.takes(100, 70);
  program.decide();
  EXPECT_EQ(program.autotune.way(), 1U);
  EXPECT_LT(program.autotune.between(), Autotune::kMostBetween) << "it is looked at sooner after a change";
}

// If both methods are about equal, the choice stays.
TEST(Autotune, AChoiceIsNotOverturnedByLittle) {
  Program program(40000);
  program.takes(100, 80);
  program.decide();
  EXPECT_EQ(program.autotune.way(), 1U);
  program.takes(100, 95);
  program.decide();
  EXPECT_EQ(program.autotune.way(), 1U);
  program.takes(100, 101);
  program.decide();
  EXPECT_EQ(program.autotune.way(), 0U);
  program.takes(100, 90);
  program.decide();
  EXPECT_EQ(program.autotune.way(), 0U);
}

}  // namespace
}  // namespace hr::p2p
