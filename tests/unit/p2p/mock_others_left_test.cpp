// end_if_others_left(): ends messages that nothing can match any more, because the processes that could have left MPI,
// and no others. On the mock transport.
#include "mock_test.hpp"
#include "p2p/buffered.hpp"
#include "p2p/partitioned.hpp"

namespace hr::p2p {
namespace {

using wire::Kind;

class OthersLeft : public OnMock {
 protected:
  void SetUp() override {
    transport::Caps caps{.inline_bytes = 64, .max_payload = 64U << 10, .chunk_bytes = 16U << 10};
    caps.same_node = true;  // only such processes can be seen to have left
    caps.latency_seconds = 1e-6;
    caps.bytes_per_second = 1e9;
    transport::mock::set_caps(caps);
    OnMock::SetUp();
  }

  static void expect_ended(Request* request, const std::string& why) {
    ASSERT_TRUE(ends(request));
    EXPECT_EQ(request->completion_.error.errc(), Errc::kOther);
    EXPECT_NE(request->detail().find(why), std::string::npos) << request->detail();
    release(request);
  }
};

TEST_F(OthersLeft, EndsAReceiveFromAProcessThatHasLeft) {
  std::vector<unsigned char> got(10);
  Request* const receive = start_receive(got, 1, 5);
  EXPECT_FALSE(end_if_others_left(*receive)) << "it has not left yet";
  network().leave(2);
  EXPECT_FALSE(end_if_others_left(*receive)) << "another has left";
  network().leave(1);
  EXPECT_TRUE(end_if_others_left(*receive));
  expect_ended(receive, "no message can match it, as rank 1 has left MPI");
}

// The message arrived before its sender left, behind many others, but no round of progress has delivered it.
TEST_F(OthersLeft, DeliversWhatWasSentBefore) {
  std::vector<unsigned char> got(10);
  const auto sent = data_of(10);
  Request* const receive = start_receive(got, 1, 5);
  for (int i = 0; i < 300; ++i) eager_from(1, 6, sent);
  eager_from(1, 5, sent);
  network().leave(1);
  EXPECT_FALSE(end_if_others_left(*receive));
  ASSERT_TRUE(receive->complete());
  expect_ok(receive);
  EXPECT_EQ(got, sent);
}

TEST_F(OthersLeft, EndsAReceiveFromAnySourceOnceAllHaveLeft) {
  // Ranks 1 to 3 of a communicator that does not contain this process, as in an intercommunicator.
  set_context_members({[](std::uint32_t, int source) { return source; },
                       [](std::uint32_t, int index) { return index < 3 ? index + 1 : -1; }});
  std::vector<unsigned char> got(10);
  Request* const receive = start_receive(got, abi::kAnySource, 5);
  network().leave(1);
  network().leave(3);
  EXPECT_FALSE(end_if_others_left(*receive));
  network().leave(2);
  EXPECT_TRUE(end_if_others_left(*receive));
  expect_ended(receive, "as all 3 processes that may send have left MPI");
}

TEST_F(OthersLeft, KeepsAReceiveFromAnySourceThatThisProcessMaySendTo) {
  std::vector<unsigned char> got(10);
  auto sent = data_of(10);
  Request* const receive = start_receive(got, abi::kAnySource, 5);
  for (int proc = 1; proc < mock_job::kSize; ++proc) network().leave(proc);
  EXPECT_FALSE(end_if_others_left(*receive));
  expect_ok(start_send(sent, 0, 5));
  expect_ok(receive);
  EXPECT_EQ(got, sent);
}

TEST_F(OthersLeft, EndsASendThatNoReceiveHasMatched) {
  auto data = data_of(40);
  for (const bool answered : {false, true}) {
    const int proc = answered ? 2 : 1;
    Request* const send = start_send(data, proc, 7, Mode::kSynchronous);
    const auto message = expect(proc, Kind::kEagerSync);
    if (answered)
      network().send_from(proc, wire::answer(Kind::kSyncAck, payload_of<wire::EagerSyncHead>(message).sender_cookie));
    network().leave(proc);
    EXPECT_EQ(end_if_others_left(*send), !answered);
    answered ? expect_ok(send) : expect_ended(send, "no receive can match it, as rank 1 has left MPI");
  }
}

TEST_F(OthersLeft, LeavesASendToItsCancellation) {
  auto data = data_of(40);
  Request* const send = start_send(data, 1, 7, Mode::kSynchronous);
  const auto message = expect(1, Kind::kEagerSync);
  ASSERT_TRUE(cancel(*send).ok());
  network().leave(1);
  EXPECT_FALSE(end_if_others_left(*send, true));
  ASSERT_TRUE(ends(send));
  EXPECT_TRUE(send->completion_.cancelled);
  EXPECT_TRUE(send->completion_.error.ok());
  release(send);
}

// A thread that waits for a message from any source cannot send it, as long as this process has no other threads.
TEST_F(OthersLeft, EndsAWaitForAnySourceOnceAllOthersHaveLeft) {
  std::vector<unsigned char> got(10);
  Request* const receive = start_receive(got, abi::kAnySource, 5);
  for (int proc = 1; proc < mock_job::kSize; ++proc) {
    EXPECT_FALSE(end_if_others_left(*receive, true)) << proc << " has not left";
    network().leave(proc);
  }
  EXPECT_TRUE(end_if_others_left(*receive, true));
  expect_ended(receive, "match the receive of rank 0, as all 3 processes that may send have left MPI");
}

TEST_F(OthersLeft, EndsBlockingCalls) {
  std::vector<unsigned char> got(10, 7);
  auto sent = data_of(40);
  network().leave(1);
  Completion completion;
  EXPECT_EQ(receive(view_of(got), {kContext, 1, 5}, &completion).errc(), Errc::kOther);
  EXPECT_EQ(take_detail(), "no message can match the receive of rank 0, as rank 1 has left MPI (MPI_Finalize)");
  EXPECT_EQ(send(view_of(sent), 1, {kContext, 0, 5}, Mode::kSynchronous).errc(), Errc::kOther);
  EXPECT_EQ(take_detail(), "no receive can match the send of rank 0, as rank 1 has left MPI (MPI_Finalize)");
  Message* message = nullptr;
  EXPECT_EQ(mprobe({kContext, 1, 5}, &message, &completion).errc(), Errc::kOther);
  EXPECT_EQ(take_detail(), "no message can match the probe of rank 0, as rank 1 has left MPI (MPI_Finalize)");
  EXPECT_EQ(got, std::vector<unsigned char>(10, 7));
}

// The messages arrived before their sender left, behind many others, but no round of progress has delivered them.
TEST_F(OthersLeft, DeliversWhatAProbeLooksFor) {
  const auto sent = data_of(10);
  for (int i = 0; i < 300; ++i) eager_from(1, 6, sent);
  eager_from(1, 5, sent);
  network().leave(1);
  EXPECT_TRUE(can_be_sent({kContext, 1, 5}).ok());
  bool found = false;
  Completion completion;
  EXPECT_TRUE(iprobe({kContext, 1, 5}, &found, &completion).ok());
  EXPECT_TRUE(found);
  EXPECT_EQ(can_be_sent({kContext, 1, 7}).errc(), Errc::kOther);
}

TEST_F(OthersLeft, DropsABufferedMessage) {
  auto data = data_of(256U << 10);  // too long to be sent without a receive
  BufferPool pool;
  ASSERT_TRUE(pool.attach(nullptr, 0, true).ok());
  ASSERT_TRUE(pool.send(view_of(data), 1, {kContext, 0, 5}).ok());
  expect(1, Kind::kRts);
  network().leave(1);
  EXPECT_TRUE(pool.flush().ok());
}

TEST_F(OthersLeft, EndsPartitionedMessagesThatHaveNotMatched) {
  std::vector<unsigned char> data(100);
  for (const bool receives : {true, false}) {
    const int proc = receives ? 1 : 2;
    const PartitionedArguments arguments{view_of(data), 2, kContext, 5, 0, proc, proc};
    Request* request = nullptr;
    ASSERT_TRUE((receives ? partitioned_receive_init : partitioned_send_init)(arguments, &request).ok());
    ASSERT_TRUE(request->state_->start(*request).ok());
    poll_some();
    EXPECT_FALSE(end_if_others_left(*request));
    network().leave(proc);
    EXPECT_TRUE(end_if_others_left(*request));
    expect_ended(request, "can match it, as rank " + std::to_string(proc) + " has left MPI");
  }
}

}  // namespace
}  // namespace hr::p2p
