// Messages on the mock transport: eager, rendezvous, matching, messages that wait for buffer space, and the end of a
// job.
#include "base/knobs.hpp"
#include "mock_test.hpp"
#include "p2p/buffered.hpp"

namespace hr::p2p {
namespace {

using transport::mock::kForEver;
using wire::Kind;

constexpr std::size_t kLong = 200001;  // too long for an eager message; several pieces

class Messages : public OnMock {};

TEST_F(Messages, AnEagerSendIsOneMessageAndDoneAtOnce) {
  auto data = data_of(100);
  Request* send = start_send(data, 1, 7);
  EXPECT_TRUE(send->complete());
  release(send);
  const auto message = expect(1, Kind::kEager);
  const Envelope envelope = wire::envelope_of(message.header);
  EXPECT_EQ(envelope.context, kContext);
  EXPECT_EQ(envelope.source, 0);
  EXPECT_EQ(envelope.tag, 7);
  ASSERT_EQ(message.payload.size(), data.size());
  EXPECT_EQ(std::memcmp(message.payload.data(), data.data(), data.size()), 0);
}

TEST_F(Messages, AnEagerMessageMeetsAPostedReceiveOrWaitsForOne) {
  for (const bool posted : {true, false}) {
    const auto sent = data_of(333);
    std::vector<unsigned char> got(400, 0xee);
    Request* receive = posted ? start_receive(got, 2, 9) : nullptr;
    eager_from(2, 9, sent);
    poll_some();
    if (!posted) receive = start_receive(got, 2, 9);
    ASSERT_TRUE(receive->complete());
    EXPECT_EQ(receive->completion_.source, 2);
    EXPECT_EQ(receive->completion_.tag, 9);
    EXPECT_EQ(receive->completion_.bytes, sent.size());
    expect_ok(receive);
    EXPECT_EQ(std::memcmp(got.data(), sent.data(), sent.size()), 0);
    EXPECT_EQ(got[sent.size()], 0xee);
  }
}

TEST_F(Messages, ASynchronousSendWaitsForItsReceive) {
  auto data = data_of(40);
  Request* send = start_send(data, 1, 7, Mode::kSynchronous);
  const auto message = expect(1, Kind::kEagerSync);
  poll_some();
  EXPECT_FALSE(send->complete());
  network().send_from(1, wire::answer(Kind::kSyncAck, payload_of<wire::EagerSyncHead>(message).sender_cookie));
  expect_ok(send);
}

// Back-pressure: no message is lost, duplicated or overtaken.
TEST_F(Messages, SendsThatFindNoRoomGoInOrderOnceThereIsSome) {
  constexpr int kSends = 20;
  network().refuse(1, kForEver);
  std::vector<std::vector<unsigned char>> data;
  for (int i = 0; i < kSends; ++i) data.push_back(data_of(10 + static_cast<std::size_t>(i), static_cast<unsigned>(i)));
  std::vector<Request*> sends;
  for (int i = 0; i < kSends; ++i) sends.push_back(start_send(data[static_cast<std::size_t>(i)], 1, i));
  poll_some();
  EXPECT_EQ(network().waiting(1), 0U);
  for (const Request* send : sends) EXPECT_FALSE(send->complete());
  // Messages to another peer can still be sent.
  auto other = data_of(5);
  expect_ok(start_send(other, 2, 0));
  network().refuse(1, 3);
  for (Request* send : sends) expect_ok(send);
  ASSERT_EQ(network().waiting(1), static_cast<std::size_t>(kSends));
  for (int i = 0; i < kSends; ++i) {
    const auto message = expect(1, Kind::kEager);
    EXPECT_EQ(wire::envelope_of(message.header).tag, i);
    ASSERT_EQ(message.payload.size(), data[static_cast<std::size_t>(i)].size());
    EXPECT_EQ(std::memcmp(message.payload.data(), data[static_cast<std::size_t>(i)].data(), message.payload.size()), 0);
  }
}

TEST_F(Messages, ABlockingSendWaitsForRoom) {
  network().refuse(1, 5);
  auto data = data_of(64);
  EXPECT_TRUE(send(view_of(data), 1, {kContext, 0, 3}, Mode::kStandard).ok());
  EXPECT_EQ(network().waiting(1), 1U);
}

TEST_F(Messages, AStreamIsSentInPiecesAlsoWhereThereIsNoRoomMeanwhile) {
  for (const unsigned refusals : {0U, 7U}) {
    auto data = data_of(kLong, refusals);
    Request* send = start_send(data, 1, 7);
    const auto rts = expect(1, Kind::kRts);
    EXPECT_FALSE(send->complete());
    EXPECT_EQ(rts.header.words[2], kLong);
    network().refuse(1, refusals);
    EXPECT_EQ(stream_to(1, rts), data);
    expect_ok(send);
  }
}

// Without readable memory, the receiver replies to the ready-to-send message, and the data arrives in pieces.
TEST_F(Messages, AStreamIsReceived) {
  const auto sent = data_of(kLong);
  std::vector<unsigned char> got(kLong + 8, 0xee);
  Request* receive = start_receive(got, 3, 1);
  send_rts_from(3, 1, 4242, sent, false);
  const auto cleared = expect(3, Kind::kCts);
  EXPECT_EQ(cleared.header.words[2], 4242U);
  const auto cts = payload_of<wire::Cts>(cleared);
  EXPECT_EQ(cts.bytes, kLong);
  constexpr std::size_t kPiece = 60000;
  for (std::size_t at = 0; at < kLong; at += kPiece) {
    EXPECT_FALSE(receive->complete());
    network().send_from(3, wire::data(cts.receiver_cookie, at), sent.data() + at, std::min(kPiece, kLong - at));
    poll_some();
  }
  EXPECT_EQ(receive->completion_.bytes, kLong);
  expect_ok(receive);
  EXPECT_EQ(std::memcmp(got.data(), sent.data(), kLong), 0);
  EXPECT_EQ(got[kLong], 0xee);
}

TEST_F(Messages, ALongMessageToOneselfIsOneCopy) {
  auto sent = data_of(kLong);
  std::vector<unsigned char> got(kLong, 0xee);
  Request* send = start_send(sent, 0, 1);
  Request* receive = start_receive(got, 0, 1);
  expect_ok(receive);
  expect_ok(send);
  EXPECT_EQ(got, sent);
}

// Truncated messages, with every protocol that runs here.
TEST_F(Messages, AShortBufferGetsWhatFitsAndAnError) {
  auto sent = data_of(kLong);
  std::vector<unsigned char> got(1000, 0xee);
  Request* receive = start_receive(got, 3, 1);
  send_rts_from(3, 1, 4242, sent, false);
  const auto cts = payload_of<wire::Cts>(expect(3, Kind::kCts));
  EXPECT_EQ(cts.bytes, got.size());
  network().send_from(3, wire::data(cts.receiver_cookie, 0), sent.data(), got.size());
  ASSERT_TRUE(ends(receive));
  EXPECT_EQ(receive->completion_.error.errc(), Errc::kTruncate);
  EXPECT_EQ(std::memcmp(got.data(), sent.data(), got.size()), 0);
  release(receive);
}

TEST_F(Messages, ALongMessageCanBeProbedAndTakenBack) {
  auto data = data_of(kLong);
  Request* send = start_send(data, 1, 5);
  const auto rts = payload_of<wire::Rts>(expect(1, Kind::kRts));
  ASSERT_TRUE(cancel(*send).ok());
  expect(1, Kind::kCancel);
  network().send_from(1, wire::answer(Kind::kCancelled, rts.sender_cookie));
  ASSERT_TRUE(ends(send));
  EXPECT_TRUE(send->completion_.cancelled);
  release(send);

  send_rts_from(2, 6, 99, data, false);
  Completion completion;
  ASSERT_TRUE(probe({kContext, abi::kAnySource, abi::kAnyTag}, &completion).ok());
  EXPECT_EQ(completion.source, 2);
  EXPECT_EQ(completion.bytes, kLong);
  std::vector<unsigned char> got(kLong);
  Request* receive = start_receive(got, 2, 6);
  const auto cts = payload_of<wire::Cts>(expect(2, Kind::kCts));
  for (std::size_t at = 0; at < kLong; at += 50000)
    network().send_from(2, wire::data(cts.receiver_cookie, at), data.data() + at,
                        std::min<std::size_t>(50000, kLong - at));
  expect_ok(receive);
  EXPECT_EQ(got, data);
}

// --- matching ---

TEST_F(Messages, MessagesOfOneProcessMatchInOrderWhateverOthersDo) {
  network().hold(1, true);
  eager_from(1, 5, data_of(1, 1));
  eager_from(1, 5, data_of(2, 2));
  eager_from(2, 5, data_of(3, 3));
  network().overtake(2);
  std::vector<unsigned char> got(10);
  Request* any = start_receive(got, abi::kAnySource, abi::kAnyTag);
  ASSERT_TRUE(ends(any));
  EXPECT_EQ(any->completion_.source, 2);  // the message of process 1 is late
  release(any);
  std::vector<unsigned char> first(10);
  std::vector<unsigned char> second(10);
  Request* one = start_receive(first, 1, 5);
  Request* two = start_receive(second, abi::kAnySource, 5);
  poll_some();
  EXPECT_FALSE(one->complete());
  network().hold(1, false);
  ASSERT_TRUE(ends(two));
  EXPECT_EQ(one->completion_.bytes, 1U);
  EXPECT_EQ(two->completion_.bytes, 2U);
  expect_ok(one);
  expect_ok(two);
}

TEST_F(Messages, ProcessesOvertakeOneAnother) {
  eager_from(1, 5, data_of(1));
  eager_from(2, 5, data_of(2));
  eager_from(3, 5, data_of(3));
  network().overtake(3);
  network().hold(1, true);
  std::vector<int> order;
  for (int i = 0; i < 2; ++i) {
    std::vector<unsigned char> got(10);
    Request* any = start_receive(got, abi::kAnySource, 5);
    ASSERT_TRUE(ends(any));
    order.push_back(any->completion_.source);
    release(any);
  }
  EXPECT_EQ(order, (std::vector<int>{3, 2}));
  network().hold(1, false);
  std::vector<unsigned char> got(10);
  expect_ok(start_receive(got, 1, 5));
}

TEST_F(Messages, TagsAndContextsAreKeptApart) {
  std::vector<unsigned char> got(10, 0xee);
  Request* receive = start_receive(got, 1, 5);
  network().send_from(1, wire::envelope(Kind::kEager, {kContext + 1, 1, 5}, 1), "x", 1);
  eager_from(1, 6, data_of(2));
  eager_from(2, 5, data_of(3));
  poll_some();
  EXPECT_FALSE(receive->complete());
  eager_from(1, 5, data_of(4));
  ASSERT_TRUE(ends(receive));
  EXPECT_EQ(receive->completion_.bytes, 4U);
  expect_ok(receive);
}

// --- Buffered sends, and the end of the engine ---

TEST_F(Messages, AFlushOfTheBufferWaitsForRoom) {
  std::vector<unsigned char> buffer(100000);
  BufferPool pool;
  ASSERT_TRUE(pool.attach(buffer.data(), static_cast<Count>(buffer.size()), false).ok());
  network().refuse(1, 9);
  auto data = data_of(500);
  ASSERT_TRUE(pool.send(view_of(data), 1, {kContext, 0, 3}).ok());
  EXPECT_EQ(network().waiting(1), 0U);
  ASSERT_TRUE(pool.flush().ok());
  EXPECT_EQ(network().waiting(1), 1U);
}

TEST_F(Messages, FinalizeSendsWhatWaitsForRoom) {
  auto data = data_of(50);
  network().refuse(1, 30);
  Request* send = start_send(data, 1, 3);
  EXPECT_FALSE(send->complete());
  ASSERT_TRUE(finalize().ok());
  EXPECT_TRUE(send->complete());
  EXPECT_TRUE(send->completion_.error.ok());
  release(send);
}

TEST_F(OnMock, TheAttachedBufferGoesWithTheEngine) {
  std::byte memory[1000];
  ASSERT_TRUE(process_buffer().attach(memory, sizeof memory, false).ok());
  TearDown();
  SetUp();
  EXPECT_FALSE(process_buffer().attached());
}

// Messages that were not received are freed, and the memory of received ones is reused.
TEST_F(OnMock, UnexpectedMessagesGoWithTheEngine) {
  std::vector<unsigned char> sent = data_of(100);
  std::vector<unsigned char> got(100, 0xee);
  for (const int tag : {1, 2, 3}) eager_from(1, tag, sent);
  poll_some();
  expect_ok(start_receive(got, 1, 2));
  EXPECT_EQ(got, sent);
  EXPECT_EQ(matcher(kContext).unexpected_count(), 2U);
  TearDown();
  SetUp();
  EXPECT_EQ(matcher(kContext).unexpected_count(), 0U);
  sent = data_of(100, 7);
  eager_from(1, 3, sent);
  poll_some();
  expect_ok(start_receive(got, 1, 3));
  EXPECT_EQ(got, sent);
}

}  // namespace
}  // namespace hr::p2p
