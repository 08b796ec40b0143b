// Unexpected messages are dropped and counted: the simulated processes send messages that the library never sends, and
// no pending operation is affected.
#include "base/statistics.hpp"
#include "mock_test.hpp"
#include "p2p/active_message.hpp"

namespace hr::p2p {
namespace {

using wire::Kind;

constexpr std::size_t kLong = 200001;

class Arrivals : public OnMock {
 protected:
  static std::uint64_t dropped() { return value_of(static_cast<std::size_t>(Statistic::messages_dropped)); }
  // Sends the message, and expects it to be dropped.
  static void expect_dropped(int from, const transport::Header& header, const void* payload = nullptr,
                             std::size_t bytes = 0) {
    const std::uint64_t before = dropped();
    network().send_from(from, header, payload, bytes);
    poll_some();
    EXPECT_EQ(dropped(), before + 1) << "kind " << transport::kind_of(header) << " from " << from;
  }
  static std::uint64_t cookie_of(const Request* request) { return reinterpret_cast<std::uint64_t>(request); }
};

TEST_F(Arrivals, KindsThatThereAreNot) {
  for (const std::uint64_t kind : {0U, 40U, 63U}) expect_dropped(1, {{kind, 0, 0}}, "x", 1);
  expect_dropped(1, wire::active_message(kActiveMessageIds, 0));
  expect_dropped(1, wire::active_message(255, 0));
}

TEST_F(Arrivals, CookiesOfNothing) {
  const auto here = cookie_of(reinterpret_cast<const Request*>(this));
  const wire::Cts cts{1, 1, 0, 0};
  const wire::Share share{1, 1, 1, 0, 0};
  const wire::Piece piece{1, 0, 0};
  for (const std::uint64_t cookie :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x40000000}, here, ~std::uint64_t{0}}) {
    for (const Kind kind : {Kind::kSyncAck, Kind::kDone, Kind::kAsk, Kind::kCancelled})
      expect_dropped(1, wire::answer(kind, cookie));
    expect_dropped(1, wire::answer(Kind::kCts, cookie), &cts, sizeof cts);
    expect_dropped(1, wire::answer(Kind::kShare, cookie), &share, sizeof share);
    expect_dropped(1, wire::shared(cookie, 1, false));
    expect_dropped(1, wire::data(cookie, 0), "x", 1);
    expect_dropped(1, wire::stored(cookie));
    expect_dropped(1, wire::piece(0, 0, cookie, 0), &piece, sizeof piece);
    expect_dropped(1, wire::network_piece(cookie, 0), "0123456789abcdef", 16);
    expect_dropped(1, wire::network_whole(cookie), "01234567", 8);
  }
  expect_dropped(1, wire::chunk(3, 0));
}

TEST_F(Arrivals, PayloadsThatAreTooShort) {
  const Envelope envelope{kContext, 1, 7};
  expect_dropped(1, wire::envelope(Kind::kEagerSync, envelope, 1), "1234567", 7);
  expect_dropped(1, wire::envelope(Kind::kRts, envelope, 100));
  expect_dropped(1, wire::envelope(Kind::kRts, envelope, 100), "0123456789", 10);
  for (const std::uint64_t flag : {wire::kView, wire::kChunks, wire::kKept}) {
    const wire::Rts rts{1, 0, flag | wire::kDevice, 0};
    expect_dropped(1, wire::envelope(Kind::kRts, envelope, 100), &rts, sizeof rts);
  }
  // The message says that the sender's transport keeps the data, but that transport has not kept any.
  struct {
    wire::Rts rts{1, 0, wire::kKept, 0};
    transport::RendezvousData data{0x40000000};
  } kept;
  expect_dropped(1, wire::envelope(Kind::kRts, envelope, 100), &kept, sizeof kept);
  expect_dropped(1, wire::envelope(Kind::kPartitions, envelope, 100), "0123", 4);
}

TEST_F(Arrivals, ContextsThatThereAreNot) {
  const wire::Rts rts{1, 0, 0, 0};
  for (const std::uint32_t context : {kMostContexts, 0x7fffffffU, 0xffffffffU}) {
    const Envelope envelope{context, 1, 7};
    expect_dropped(1, wire::envelope(Kind::kEager, envelope, 3), "abc", 3);
    expect_dropped(1, wire::envelope(Kind::kEagerSync, envelope, 0), "12345678", 8);
    expect_dropped(1, wire::envelope(Kind::kRts, envelope, 3), &rts, sizeof rts);
  }
  EXPECT_LE(engine()->matchers.size(), kMostContexts);
}

// A send may be referenced only by its receiver, while it is pending, and within its length.
TEST_F(Arrivals, WhatDoesNotFitASend) {
  auto data = data_of(kLong);
  Request* send = start_send(data, 1, 7);
  const auto rts = expect(1, Kind::kRts);
  const std::uint64_t cookie = cookie_of(send);
  const wire::Cts whole{77, kLong, 0, 0};
  expect_dropped(2, wire::answer(Kind::kCts, cookie), &whole, sizeof whole);
  expect_dropped(2, wire::answer(Kind::kDone, cookie));
  expect_dropped(1, wire::answer(Kind::kSyncAck, cookie));
  expect_dropped(1, wire::data(cookie, 0), "x", 1);
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{kLong + 1}, ~std::uint64_t{0}}) {
    const wire::Cts cts{77, bytes, 0, 0};
    expect_dropped(1, wire::answer(Kind::kCts, cookie), &cts, sizeof cts);
  }
  const wire::Cts put{77, kLong, wire::kPut, 0};
  expect_dropped(1, wire::answer(Kind::kCts, cookie), &put, sizeof put);
  EXPECT_FALSE(send->complete());
  EXPECT_EQ(stream_to(1, rts), data);
  expect_ok(send);
}

// A second clear-to-send would add the send to two queues.
TEST_F(Arrivals, ASendThatIsClearedTwice) {
  auto data = data_of(kLong);
  Request* send = start_send(data, 1, 7);
  network().refuse(1, transport::mock::kForEver);
  const wire::Cts cts{77, kLong, 0, 0};
  network().send_from(1, wire::answer(Kind::kCts, cookie_of(send)), &cts, sizeof cts);
  poll_some();
  expect_dropped(1, wire::answer(Kind::kCts, cookie_of(send)), &cts, sizeof cts);
  expect_dropped(1, wire::answer(Kind::kDone, cookie_of(send)));
  network().refuse(1, 0);
  expect_ok(send);
}

TEST_F(Arrivals, WhatDoesNotFitAReceive) {
  const auto sent = data_of(kLong);
  auto into = std::vector<unsigned char>(kLong, 0xee);
  Request* receive = start_receive(into, 1, 7);
  send_rts_from(1, 7, 5, sent, false);
  const auto cts = payload_of<wire::Cts>(expect(1, Kind::kCts));
  expect_dropped(2, wire::data(cts.receiver_cookie, 0), "x", 1);
  expect_dropped(1, wire::data(cts.receiver_cookie, kLong), "x", 1);
  expect_dropped(1, wire::data(cts.receiver_cookie, ~std::uint64_t{0} - 7), "01234567", 8);
  const wire::Piece nowhere{100, 0, 0};
  expect_dropped(1, wire::piece(0, 0, cts.receiver_cookie, 0), &nowhere, sizeof nowhere);
  const wire::Piece missing{kLong + 1, 0, 0};
  expect_dropped(1, wire::piece(0, wire::kNoChunk, cts.receiver_cookie, 0), &missing, sizeof missing);
  expect_dropped(1, wire::shared(cts.receiver_cookie, 10, false));
  EXPECT_FALSE(receive->complete());
  constexpr std::size_t kPiece = 50000;
  for (std::size_t at = 0; at < kLong; at += kPiece)
    network().send_from(1, wire::data(cts.receiver_cookie, at), sent.data() + at, std::min(kPiece, kLong - at));
  ASSERT_TRUE(ends(receive));
  EXPECT_TRUE(receive->completion_.error.ok());
  EXPECT_EQ(into, sent);
  // The send has completed: any further message for it is dropped.
  expect_dropped(1, wire::data(cts.receiver_cookie, 0), "x", 1);
  release(receive);
}

}  // namespace
}  // namespace hr::p2p
