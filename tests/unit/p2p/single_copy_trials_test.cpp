// Trials of the two ways of long messages, seen from outside: after how many messages the other way is taken.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "p2p/rendezvous.hpp"
#include "p2p/request.hpp"
#include "p2p/single_copy.hpp"

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
  int messages;
};

class SingleCopyTrial : public testing::TestWithParam<Trial> {};

// Twice each way, reading first, one message after another.
TEST_P(SingleCopyTrial, TakesSoManyMessages) {
  const auto [bytes, messages] = GetParam();
  for (int trial = 0; trial < 4; ++trial) {
    const bool reads = trial % 2 == 0;
    for (int i = 0; i < messages; ++i) {
      Transfer transfer(bytes);
      ASSERT_EQ(transfer.would_be_read(), reads) << "trial " << trial << ", message " << i;
      transfer.begin(reads);
      transfer.end();
    }
    // After the last one the faster way is taken.
    if (trial < 3) {
      EXPECT_EQ(Transfer(bytes).would_be_read(), !reads) << "trial " << trial << " is not over";
    }
  }
}

// At least three: with one or two, the first turn, which is still that of the other way, would be most of the trial.
INSTANTIATE_TEST_SUITE_P(Long, SingleCopyTrial,
                         testing::Values(Trial{std::size_t{1} << 30, 3}, Trial{std::size_t{1} << 20, 3},
                                         Trial{std::size_t{1} << 19, 3}, Trial{300000, 3}));
// As many as make half a MiB.
INSTANTIATE_TEST_SUITE_P(Medium, SingleCopyTrial, testing::Values(Trial{150000, 4}, Trial{100000, 6}));
INSTANTIATE_TEST_SUITE_P(Short, SingleCopyTrial, testing::Values(Trial{40000, 8}, Trial{20000, 8}));

TEST(SingleCopyTrials, AWayDoesNotChangeWhileMessagesAreUnderWay) {
  constexpr std::size_t kBytes = 5000000;
  std::array<Transfer, 5> window{Transfer(kBytes), Transfer(kBytes), Transfer(kBytes), Transfer(kBytes),
                                 Transfer(kBytes)};
  for (Transfer& each : window) each.begin(true);
  for (Transfer& each : window) {
    EXPECT_TRUE(Transfer(kBytes).would_be_read());
    each.end();
  }
  EXPECT_FALSE(Transfer(kBytes).would_be_read());
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
