// Long messages whose data can be read from the sender's memory, on the mock transport.
#include "base/knobs.hpp"
#include "mock_test.hpp"

namespace hr::p2p {
namespace {

using wire::Kind;

constexpr std::size_t kLong = 200001;

class Reading : public OnMock {
 protected:
  void SetUp() override {
    transport::mock::set_caps({.inline_bytes = 64,
                               .max_payload = std::size_t{64} << 10,
                               .chunk_bytes = std::size_t{16} << 10,
                               .remote_read = true,
                               .latency_seconds = 1e-6,
                               .bytes_per_second = 1e9});
    OnMock::SetUp();
  }
  // Expects that the receiver reads process 1's message, and reports this to process 1.
  void expect_read() {
    got.assign(kLong, 0xee);
    Request* receive = start_receive(got, 1, 1);
    send_rts_from(1, 1, 5151, sent, true);
    EXPECT_EQ(expect(1, Kind::kDone).header.words[2], 5151U);
    expect_ok(receive);
    EXPECT_EQ(got, sent);
  }
  void expect_streamed() {
    got.assign(kLong, 0xee);
    Request* receive = start_receive(got, 1, 1);
    send_rts_from(1, 1, 5151, sent, true);
    const auto cts = payload_of<wire::Cts>(expect(1, Kind::kCts));
    for (std::size_t at = 0; at < kLong; at += 50000)
      network().send_from(1, wire::data(cts.receiver_cookie, at), sent.data() + at,
                          std::min<std::size_t>(50000, kLong - at));
    expect_ok(receive);
    EXPECT_EQ(got, sent);
  }

  const std::vector<unsigned char> sent = data_of(kLong);
  std::vector<unsigned char> got;
};

TEST_F(Reading, TheReceiverReadsAndSaysSo) { expect_read(); }

TEST_F(Reading, WhatCannotBeReadComesAsAStream) {
  network().refuse_memory(true);
  expect_streamed();
}

TEST_F(Reading, ANewEngineTriesToReadAgain) {
  network().refuse_memory(true);
  expect_streamed();
  network().refuse_memory(false);
  expect_streamed();  // reading is not attempted again
  TearDown();
  SetUp();
  expect_read();
}

TEST_F(Reading, AFailedProcessIsNotReadAnyMore) {
  send_rts_from(1, 1, 5151, sent, true);
  poll_some();  // unexpected
  network().vanish(1);
  poll_some();
  got.assign(kLong, 0xee);
  expect_failed(start_receive(got, 1, 1), 1);
  EXPECT_EQ(network().waiting(1), 0U);
}

}  // namespace
}  // namespace hr::p2p
