// The trial of the two ways of long messages, seen from outside: after how many messages the other way is taken, and
// which one in the end.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <utility>

#include "p2p/engine.hpp"
#include "p2p/rendezvous.hpp"
#include "p2p/request.hpp"
#include "p2p/single_copy.hpp"

namespace hr::p2p {
extern const Rendezvous kSingleCopy;
}

namespace hr::p2p::single_copy {
namespace {

using std::chrono::microseconds;

// What is known of peers is kept with the engine.
template <class Base>
class OnEngine : public Base {
 protected:
  void SetUp() override { current_engine = &engine_; }
  void TearDown() override { current_engine = nullptr; }

 private:
  Engine engine_;
};

int next_peer() {
  static int peers = 0;
  return peers++;
}

Announcement readable(int peer) {
  Announcement announced;
  announced.from_proc = peer;
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
  Transfer(int peer, std::size_t bytes) {
    receive_.proc_ = peer;
    receive_.total_ = bytes;
    receive_.view_.contiguous = true;
  }
  // Whether it would be read, were it to begin now.
  [[nodiscard]] bool would_be_read() const {
    return kSingleCopy.probe(readable(receive_.proc_), receive_, reading_caps()) == 0;
  }
  void begin(bool reading) { begins(readable(receive_.proc_), receive_, reading); }
  void end() { ends(receive_); }

 private:
  Request receive_;
};

// Messages that take a set time, by the way that they go.
class Program {
 public:
  explicit Program(std::size_t bytes, int peer = next_peer()) : peer_(peer), bytes_(bytes) {}
  void takes(microseconds read, microseconds stream) { read_ = read, stream_ = stream; }
  [[nodiscard]] bool reads() const { return Transfer(peer_, bytes_).would_be_read(); }
  // Whether it was read.
  bool transfer(microseconds late = {}) const {
    Transfer one(peer_, bytes_);
    const bool reading = one.would_be_read();
    one.begin(reading);
    const auto end = std::chrono::steady_clock::now() + (reading ? read_ : stream_) + late;
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
  [[nodiscard]] int peer() const { return peer_; }

 private:
  const int peer_;
  const std::size_t bytes_;
  microseconds read_{};
  microseconds stream_{};
};

struct Trial {
  std::size_t bytes;
  int messages;  // each way
};
using SingleCopyTrial = OnEngine<testing::TestWithParam<Trial>>;
using SingleCopyTrials = OnEngine<testing::Test>;

// Reading first, then streams; then no more, whatever becomes of the two.
TEST_P(SingleCopyTrial, TakesSoManyMessagesOnce) {
  const auto [bytes, messages] = GetParam();
  for (const bool stream_is_faster : {true, false}) {
    Program program(bytes);
    const microseconds quick(10), slow(100);
    program.takes(stream_is_faster ? slow : quick, stream_is_faster ? quick : slow);
    EXPECT_EQ(program.read_of(messages), messages);
    EXPECT_EQ(program.read_of(messages), 0);
    const int expected = stream_is_faster ? 0 : 500;
    EXPECT_EQ(program.read_of(500), expected);
    program.takes(stream_is_faster ? quick : slow, stream_is_faster ? slow : quick);
    EXPECT_EQ(program.read_of(500), expected);
  }
}
// Settling and samples: 1 and 1, 2 and 8, 32 and 8.
INSTANTIATE_TEST_SUITE_P(Sizes, SingleCopyTrial,
                         testing::Values(Trial{std::size_t{64} << 20, 2}, Trial{std::size_t{1} << 20, 10},
                                         Trial{40000, 40}, Trial{20000, 40}));

TEST_F(SingleCopyTrials, EachPeerAndEachClassHasItsOwn) {
  Program first(100000);
  first.takes(microseconds(100), microseconds(10));
  first.read_of(80);
  EXPECT_FALSE(first.reads());
  EXPECT_TRUE(Program(100000).reads());
  EXPECT_TRUE(Program(200000, first.peer()).reads());
  EXPECT_FALSE(Program(70000, first.peer()).reads());
}

TEST_F(SingleCopyTrials, ANewEngineKnowsNothing) {
  Program program(100000);
  program.takes(microseconds(100), microseconds(10));
  program.read_of(80);
  EXPECT_FALSE(program.reads());
  Engine another;
  Engine* const before = std::exchange(current_engine, &another);
  EXPECT_TRUE(program.reads());
  current_engine = before;
  EXPECT_FALSE(program.reads());
}

// A process that loses its core in some of them does not decide.
TEST_F(SingleCopyTrials, TheLeastSampleCounts) {
  Program program(1000000);
  program.takes(microseconds(100), microseconds(10));
  for (int i = 0; i < 24; ++i) program.transfer(microseconds(i % 3 == 0 ? 2000 : 0));
  EXPECT_FALSE(program.reads());
}

// Several messages that are under way at once.
class Window {
 public:
  Window(int peer, std::size_t bytes)
      : messages_{Transfer(peer, bytes), Transfer(peer, bytes), Transfer(peer, bytes), Transfer(peer, bytes),
                  Transfer(peer, bytes)} {}
  [[nodiscard]] bool would_be_read() const { return messages_.front().would_be_read(); }
  // Returns whether it was read. `first`, `others`: until the first one ends, and from each end to the next.
  bool transfer(microseconds first, microseconds others) {
    const bool reading = would_be_read();
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

// The first one settles, the second one is the sample.
TEST_F(SingleCopyTrials, AWayDoesNotChangeWhileMessagesAreUnderWay) {
  Window window(next_peer(), 10000000);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(window.transfer({}, {}));
  EXPECT_FALSE(window.transfer({}, {}));
}

// What is read ends all at once, after half as long again as the stream's last message: none of them tells alone.
TEST_F(SingleCopyTrials, AWindowIsTimedAsAWhole) {
  Window window(next_peer(), 1000000);
  for (int i = 0; i < 18; ++i) {
    const bool reads = window.would_be_read();
    window.transfer(microseconds(reads ? 1500 : 200), microseconds(reads ? 0 : 200));
  }
  EXPECT_FALSE(window.would_be_read());
}

// Less than is ever read counts for nothing, nor does what ends without having begun.
TEST_F(SingleCopyTrials, ShortMessagesAreNotTried) {
  const int peer = next_peer();
  for (int i = 0; i < 100; ++i) {
    Transfer transfer(peer, 1000);
    EXPECT_FALSE(transfer.would_be_read());
    transfer.begin(true);
    transfer.end();
  }
  constexpr std::size_t kBytes = 10000000;
  for (int i = 0; i < 100; ++i) Transfer(peer, kBytes).end();
  EXPECT_TRUE(Transfer(peer, kBytes).would_be_read());
}

}  // namespace
}  // namespace hr::p2p::single_copy
