// Several transports that reach the same process: the cheaper one is used, separately for messages and for memory.
#include "mock_test.hpp"

namespace hr::p2p {
namespace {

using transport::Caps;
using wire::Kind;

constexpr std::size_t kLong = 200001;

Caps caps_of(double latency, double bytes_per_second) {
  return {.inline_bytes = 64,
          .max_payload = std::size_t{64} << 10,
          .chunk_bytes = std::size_t{16} << 10,
          .latency_seconds = latency,
          .bytes_per_second = bytes_per_second};
}

class TwoPaths : public OnMock {
 protected:
  void SetUp() override {}  // the test calls with() once it knows the caps
  static void with(const Caps& first, const Caps& second) {
    transport::mock::set_caps(first);
    transport::mock::set_second_caps(second);
    ASSERT_TRUE(boot::init().ok());
    ASSERT_TRUE(init().ok()) << take_detail();
  }
  void TearDown() override {
    transport::mock::set_second_caps(std::nullopt);
    OnMock::TearDown();
  }
  static transport::mock::Network& second() { return *transport::mock::second_network(); }
  // True if a short message uses the second transport.
  static bool by_second() {
    auto data = data_of(100);
    expect_ok(start_send(data, 1, 1));
    const bool by_first = network().take(1).has_value();
    EXPECT_NE(by_first, second().take(1).has_value());
    EXPECT_EQ(network().connections(1), by_first ? 1U : 0U);
    EXPECT_EQ(second().connections(1), by_first ? 0U : 1U);
    return !by_first;
  }
};

TEST_F(TwoPaths, TheQuickerOneTakesMessages) {
  with(caps_of(10e-6, 2e9), caps_of(1e-6, 2e9));
  EXPECT_TRUE(by_second());
}

TEST_F(TwoPaths, WhateverTheirOrder) {
  with(caps_of(1e-6, 2e9), caps_of(10e-6, 2e9));
  EXPECT_FALSE(by_second());
}

TEST_F(TwoPaths, BandwidthCounts) {
  with(caps_of(1e-6, 1e8), caps_of(1.2e-6, 1e10));
  EXPECT_TRUE(by_second());
}

TEST_F(TwoPaths, OfEqualsTheFirst) {
  with(caps_of(1e-6, 2e9), caps_of(1e-6, 2e9));
  EXPECT_FALSE(by_second());
}

// All messages to a peer use one path, so they stay in order; messages that arrive over the other path are received
// nevertheless.
TEST_F(TwoPaths, LongMessagesGoTheSameWay) {
  with(caps_of(1e-6, 1e8), caps_of(10e-6, 1e8));
  auto data = data_of(kLong);
  Request* send = start_send(data, 1, 1);
  const auto rts = expect(1, Kind::kRts);
  EXPECT_EQ(stream_to(1, rts), data);
  expect_ok(send);
  EXPECT_EQ(second().waiting(1), 0U);
  std::vector<unsigned char> got(100, 0xee);
  const auto sent = data_of(100, 7);
  Request* receive = start_receive(got, 1, 2);
  second().send_from(1, wire::envelope(Kind::kEager, {kContext, 1, 2}, sent.size()), sent.data(), sent.size());
  expect_ok(receive);
  EXPECT_EQ(got, sent);
}

// The path that can read memory, or reads it faster, does so, while messages use the other one.
TEST_F(TwoPaths, MemoryHasAPathOfItsOwn) {
  Caps reads = caps_of(10e-6, 2e9);
  reads.remote_read = true;
  reads.host_memory = {1e-6, 8e9};
  with(caps_of(1e-6, 2e9), reads);
  const auto sent = data_of(kLong);
  std::vector<unsigned char> got(kLong, 0xee);
  Request* receive = start_receive(got, 1, 1);
  send_rts_from(1, 1, 5151, sent, true);
  EXPECT_EQ(expect(1, Kind::kDone).header.words[2], 5151U) << "the answer goes by the path of messages";
  expect_ok(receive);
  EXPECT_EQ(got, sent);
  EXPECT_EQ(network().copies(), 0U);
  EXPECT_GE(second().copies(), 1U);
  EXPECT_EQ(network().connections(1), 1U);
  EXPECT_EQ(second().connections(1), 1U);
}

TEST_F(TwoPaths, TheCheaperOneReachesMemory) {
  Caps first = caps_of(1e-6, 2e9);
  Caps second_caps = caps_of(1e-6, 2e9);
  first.remote_read = second_caps.remote_read = true;
  first.host_memory = {1e-6, 2e9};
  second_caps.host_memory = {1e-6, 4e9};
  with(first, second_caps);
  const transport::Transport* const path = transport::path_to_memory(1);
  ASSERT_NE(path, nullptr);
  EXPECT_EQ(path->name(), "second mock");
}

TEST_F(TwoPaths, NoneWhereNoneCan) {
  with(caps_of(1e-6, 2e9), caps_of(1e-6, 2e9));
  EXPECT_EQ(transport::path_to_memory(1), nullptr);
  EXPECT_EQ(transport::exposing(), nullptr);
}

TEST_F(TwoPaths, TheOneThatCanExposesMemory) {
  Caps exposes = caps_of(1e-6, 2e9);
  exposes.exposed_memory = true;
  with(caps_of(1e-6, 2e9), exposes);
  ASSERT_NE(transport::exposing(), nullptr);
  EXPECT_EQ(transport::exposing()->name(), "second mock");
}

}  // namespace
}  // namespace hr::p2p
