// Trials of the two ways of long messages, seen from outside: after how many messages the other way is taken.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

#include "p2p/rendezvous.hpp"
#include "p2p/request.hpp"
#include "p2p/single_copy.hpp"

namespace hr::p2p {
extern const Rendezvous kSingleCopy;
}

namespace hr::p2p::single_copy {
namespace {

Announcement readable() {
  Announcement announced;
  announced.remote_address = 4096;
  return announced;
}

transport::Caps reading_caps() {
  transport::Caps caps;
  caps.remote_read = true;
  return caps;
}

// A receive of so many bytes, of which nothing is moved: only what is counted matters.
class Transfer {
 public:
  explicit Transfer(std::size_t bytes) {
    receive_.total_ = bytes;
    receive_.view_.contiguous = true;
  }
  // Whether it would be read, were it to begin now.
  [[nodiscard]] bool would_be_read() const { return kSingleCopy.probe(readable(), receive_, reading_caps()) == 0; }
  void begin(bool reading) { begins(readable(), receive_, reading); }
  void end() { ends(receive_); }

 private:
  Request receive_;
};

struct Trial {
  std::size_t bytes;  // each of a size class of its own: what is known of it stays with the process
  int settling;       // messages that count for nothing, before
  int messages;
  int trials = 4;
};

class SingleCopyTrial : public testing::TestWithParam<Trial> {};

// Each way in turns, reading first, one message after another.
TEST_P(SingleCopyTrial, TakesSoManyMessages) {
  const auto [bytes, settling, counted, trials] = GetParam();
  const int messages = settling + counted;
  for (int trial = 0; trial < trials; ++trial) {
    const bool reads = trial % 2 == 0;
    for (int i = 0; i < messages; ++i) {
      Transfer transfer(bytes);
      ASSERT_EQ(transfer.would_be_read(), reads) << "trial " << trial << ", message " << i;
      transfer.begin(reads);
      transfer.end();
    }
    // After the last one the faster way is taken.
    if (trial + 1 < trials) {
      EXPECT_EQ(Transfer(bytes).would_be_read(), !reads) << "trial " << trial << " is not over";
    }
  }
}

// At least three of at least one that settles; so much that one trial of each way is enough.
INSTANTIATE_TEST_SUITE_P(Longest, SingleCopyTrial, testing::Values(Trial{std::size_t{1} << 30, 1, 3, 2}));
// At least three, twice each way.
INSTANTIATE_TEST_SUITE_P(Long, SingleCopyTrial,
                         testing::Values(Trial{std::size_t{1} << 20, 1, 3}, Trial{std::size_t{1} << 19, 1, 3},
                                         Trial{300000, 2, 3}));
// As many as make half a MiB, each time.
INSTANTIATE_TEST_SUITE_P(Medium, SingleCopyTrial, testing::Values(Trial{150000, 4, 4}, Trial{100000, 6, 6}));
INSTANTIATE_TEST_SUITE_P(Short, SingleCopyTrial, testing::Values(Trial{40000, 8, 8}, Trial{20000, 8, 8}));

// Messages that take a set time, by the way that they would go.
class Program {
 public:
  static constexpr auto kQuick = std::chrono::microseconds(20);
  static constexpr auto kSlow = std::chrono::microseconds(200);

  explicit Program(std::size_t bytes) : bytes_(bytes) {}
  void stream_takes(std::chrono::microseconds time) { stream_ = time; }
  // Whether it was read, which takes between the two.
  bool transfer() const {
    Transfer one(bytes_);
    const bool reading = one.would_be_read();
    one.begin(reading);
    const auto end = std::chrono::steady_clock::now() + (reading ? 3 * kQuick : stream_);
    while (std::chrono::steady_clock::now() < end) {
    }
    one.end();
    return reading;
  }
  // How many of so many are read.
  int read_of(int messages) const {
    int read = 0;
    for (int i = 0; i < messages; ++i) read += transfer() ? 1 : 0;
    return read;
  }

 private:
  const std::size_t bytes_;
  std::chrono::microseconds stream_ = kQuick;
};

// Where streams become the slower way the choice changes, and streams are tried again soon, not only when the first
// plan, with its growing gaps, would have them. "no": the machine had its own ideas of what was quick.
std::string changes_its_mind_soon(std::size_t bytes) {
  Program program(bytes);
  program.read_of(2800);  // beyond the second retry, at about 2600; the next one is at 10000
  if (program.read_of(100) > 20) return "no: streams are quick, and are not what is used";
  program.stream_takes(Program::kSlow);
  program.read_of(50);
  if (program.read_of(100) < 80) return "no: streams are slow, and are used";
  program.stream_takes(Program::kQuick);
  int messages = 0;
  while (program.transfer()) {
    if (++messages > 600) return "no: streams are not tried again";
  }
  program.read_of(50);
  if (program.read_of(100) > 20) return "no: streams are quick again, and are not what is used";
  return "yes";
}

TEST(SingleCopyTrials, AChangeOfMindIsLookedAtAgainSoon) {
  std::string answer;
  // A size class of its own for each attempt.
  for (std::size_t bytes = 3000000; bytes < std::size_t{200000000} && answer != "yes"; bytes *= 8) {
    answer = changes_its_mind_soon(bytes);
  }
  EXPECT_EQ(answer, "yes");
}

// Several messages that are under way at once.
class Window {
 public:
  explicit Window(std::size_t bytes)
      : messages_{Transfer(bytes), Transfer(bytes), Transfer(bytes), Transfer(bytes), Transfer(bytes)} {}
  // Returns whether it was read. `first`, `others`: until the first one ends, and from each end to the next.
  bool transfer(std::chrono::microseconds first, std::chrono::microseconds others) {
    const bool reading = messages_.front().would_be_read();
    for (Transfer& each : messages_) each.begin(reading);
    auto end = std::chrono::steady_clock::now() + first;
    for (Transfer& each : messages_) {
      EXPECT_EQ(each.would_be_read(), reading) << "the way changes while messages are under way";
      while (std::chrono::steady_clock::now() < end) {
      }
      each.end();
      end += others;
    }
    return reading;
  }

 private:
  std::array<Transfer, 5> messages_;
};

// The first one settles, the second one is the trial.
TEST(SingleCopyTrials, AWayDoesNotChangeWhileMessagesAreUnderWay) {
  Window window(5000000);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(window.transfer({}, {}));
  EXPECT_FALSE(window.transfer({}, {}));
}

// What is read ends all at once, after half as long again as the stream's last message: none of them tells alone.
TEST(SingleCopyTrials, AWindowIsTimedAsAWhole) {
  using std::chrono::microseconds;
  constexpr int kWindows = 60;
  int read = 0;
  // A size class of its own for each attempt.
  for (const std::size_t bytes : {60000000, 120000000, 500000000}) {
    Window window(bytes);
    read = 0;
    for (int i = 0; i < kWindows; ++i) {
      const bool reads = Transfer(bytes).would_be_read();
      read += window.transfer(microseconds(reads ? 1500 : 200), microseconds(reads ? 0 : 200)) ? 1 : 0;
    }
    if (read < kWindows / 4) break;
  }
  EXPECT_LT(read, kWindows / 4);
}

// Less than is ever read counts for nothing, nor does what ends without having begun.
TEST(SingleCopyTrials, ShortMessagesAreNotTried) {
  for (int i = 0; i < 20; ++i) {
    Transfer transfer(1000);
    EXPECT_FALSE(transfer.would_be_read());
    transfer.begin(true);
    transfer.end();
  }
  constexpr std::size_t kBytes = 10000000;
  for (int i = 0; i < 20; ++i) Transfer(kBytes).end();
  EXPECT_TRUE(Transfer(kBytes).would_be_read());
}

}  // namespace
}  // namespace hr::p2p::single_copy
