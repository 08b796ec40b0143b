// Every wait that depends on a process ends when the process fails, with an error that names the process, and no other
// wait does. On the mock transport, whose progress rounds serve as the clock: a wait that does not end hangs the test.
#include "mock_test.hpp"
#include "p2p/buffered.hpp"
#include "p2p/task.hpp"

namespace hr::p2p {
namespace {

using transport::mock::kForEver;
using wire::Kind;

constexpr std::size_t kLong = 200001;
constexpr unsigned kLater = 40;  // rounds

class ProcessFailure : public OnMock {
 protected:
  static void expect_failed(Status status, int proc) {
    EXPECT_EQ(status.errc(), Errc::kProcFailed);
    const std::string why = take_detail();
    EXPECT_NE(why.find("rank " + std::to_string(proc)), std::string::npos) << why;
  }
  using OnMock::expect_failed;
};

TEST_F(ProcessFailure, OfAReceiveThatNamesIt) {
  std::vector<unsigned char> got(10);
  Request* failed = start_receive(got, 1, 5);
  std::vector<unsigned char> other(10);
  Request* stays = start_receive(other, 2, 5);
  network().vanish(1, kLater);
  poll_some(kLater / 2);
  EXPECT_FALSE(failed->complete()) << "it is not gone yet";
  const unsigned before = network().rounds();
  EXPECT_TRUE(wait(*failed).ok());
  EXPECT_LT(network().rounds() - before, kLater + 10);
  expect_failed(failed, 1);
  poll_some();
  EXPECT_FALSE(stays->complete());
  eager_from(2, 5, data_of(3));
  expect_ok(stays);
}

TEST_F(ProcessFailure, OfABlockingReceiveAndAProbe) {
  network().vanish(1, kLater);
  Completion completion;
  expect_failed(probe({kContext, 1, 5}, &completion), 1);
  std::vector<unsigned char> got(10);
  expect_failed(receive(view_of(got), {kContext, 1, 5}, &completion), 1);
  Message* message = nullptr;
  expect_failed(mprobe({kContext, 1, 5}, &message, &completion), 1);
  bool found = true;
  expect_failed(iprobe({kContext, 1, 5}, &found, &completion), 1);
  EXPECT_TRUE(iprobe({kContext, 2, 5}, &found, &completion).ok());
}

TEST_F(ProcessFailure, OfSendsInEveryPhase) {
  auto data = data_of(kLong);
  auto little = data_of(9);
  Request* rendezvous = start_send(data, 1, 1);
  expect(1, Kind::kRts);
  Request* synchronous = start_send(little, 1, 2, Mode::kSynchronous);
  expect(1, Kind::kEagerSync);
  Request* streams = start_send(data, 1, 3);
  const auto rts = payload_of<wire::Rts>(expect(1, Kind::kRts));
  const wire::Cts cts{77, kLong, 0, 0};
  network().refuse(1, kForEver);
  network().send_from(1, wire::answer(Kind::kCts, rts.sender_cookie), &cts, sizeof cts);
  Request* queued = start_send(little, 1, 4);
  Request* elsewhere = start_send(data, 2, 1);
  poll_some();
  for (const Request* each : {rendezvous, synchronous, streams, queued}) ASSERT_FALSE(each->complete());
  network().vanish(1);
  for (Request* each : {rendezvous, synchronous, streams, queued}) expect_failed(each, 1);
  EXPECT_FALSE(elsewhere->complete());
  EXPECT_EQ(stream_to(2, expect(2, Kind::kRts)), data);
  expect_ok(elsewhere);
}

TEST_F(ProcessFailure, OfAReceiveUnderWay) {
  const auto sent = data_of(kLong);
  std::vector<unsigned char> got(kLong);
  Request* receive = start_receive(got, abi::kAnySource, 1);
  send_rts_from(3, 1, 4242, sent, false);
  const auto cts = payload_of<wire::Cts>(expect(3, Kind::kCts));
  network().send_from(3, wire::data(cts.receiver_cookie, 0), sent.data(), 1000);
  poll_some();
  network().vanish(3);
  expect_failed(receive, 3);
}

TEST_F(ProcessFailure, WhatIsStartedLaterFailsAtOnce) {
  network().vanish(1);
  poll_some();
  auto data = data_of(8);
  const Status sent = send(view_of(data), 1, {kContext, 0, 1}, Mode::kStandard);
  expect_failed(sent, 1);
  Request* request = nullptr;
  expect_failed(isend(view_of(data), 1, {kContext, 0, 1}, Mode::kStandard, &request), 1);
  std::vector<unsigned char> got(8);
  Request* receive = start_receive(got, 1, 1);
  ASSERT_TRUE(receive->complete());
  expect_failed(receive, 1);
}

// Messages that arrived earlier can still be received.
TEST_F(ProcessFailure, OfTheSenderOfAnUnexpectedMessage) {
  const auto sent = data_of(20);
  eager_from(1, 5, sent);
  poll_some();
  network().vanish(1);
  poll_some();
  std::vector<unsigned char> got(20);
  expect_ok(start_receive(got, 1, 5));
  EXPECT_EQ(got, sent);
  expect_failed(start_receive(got, 1, 5), 1);
}

TEST_F(ProcessFailure, AReceiveFromAnySourceWaitsForWhoIsLeft) {
  std::vector<unsigned char> got(10);
  Request* receive = start_receive(got, abi::kAnySource, 5);
  network().vanish(1);
  network().vanish(2, kLater);
  poll_some(2 * kLater);
  ASSERT_FALSE(receive->complete());
  eager_from(3, 5, data_of(4));
  expect_ok(receive);
  receive = start_receive(got, abi::kAnySource, 5);
  network().vanish(3, kLater);
  expect_failed(receive, 3);
  Completion completion;
  EXPECT_EQ(probe({kContext, abi::kAnySource, 5}, &completion).errc(), Errc::kProcFailed);
}

// Late messages name requests that no longer exist.
TEST_F(ProcessFailure, WhatComesLateFindsNothing) {
  auto data = data_of(kLong);
  Request* send = start_send(data, 1, 1);
  const auto rts = payload_of<wire::Rts>(expect(1, Kind::kRts));
  // The path fails at this end, but messages from the other side still arrive.
  mark_failed(1, fail(Errc::kOther, "the cable is out"));
  ASSERT_TRUE(ends(send));
  EXPECT_NE(send->detail().find("the cable is out"), std::string::npos);
  expect_failed(send, 1);
  const wire::Cts cts{77, kLong, 0, 0};
  network().send_from(1, wire::answer(Kind::kCts, rts.sender_cookie), &cts, sizeof cts);
  network().send_from(1, wire::answer(Kind::kDone, rts.sender_cookie));
  send_rts_from(1, 9, 5, data, false);
  poll_some();
  EXPECT_EQ(network().waiting(1), 0U);
  std::vector<unsigned char> got(kLong);
  expect_failed(start_receive(got, 1, 9), 1);
}

// The receiver's reply fails because the path has failed, and only the receive waits for this reply.
TEST_F(ProcessFailure, FoundByAnAnswer) {
  const auto sent = data_of(kLong);
  std::vector<unsigned char> got(kLong);
  Request* receive = start_receive(got, 2, 1);
  std::vector<unsigned char> other(10);
  Request* also = start_receive(other, 2, 8);
  network().fail_at_send(2);
  send_rts_from(2, 1, 4242, sent, false);
  expect_failed(receive, 2);
  expect_failed(also, 2);
}

TEST_F(ProcessFailure, FoundByASend) {
  network().fail_at_send(2);
  auto data = data_of(8);
  EXPECT_FALSE(send(view_of(data), 2, {kContext, 0, 1}, Mode::kStandard).ok());
  static_cast<void>(take_detail());
  std::vector<unsigned char> got(8);
  expect_failed(start_receive(got, 2, 1), 2);
}

TEST_F(ProcessFailure, OfAPersistentRequest) {
  auto data = data_of(kLong);
  Request* request = nullptr;
  ASSERT_TRUE(send_init(view_of(data), 1, {kContext, 0, 1}, Mode::kStandard, &request).ok());
  ASSERT_TRUE(request->state_->start(*request).ok());
  network().vanish(1, kLater);
  EXPECT_TRUE(wait(*request).ok());
  EXPECT_EQ(request->completion_.error.errc(), Errc::kProcFailed);
  expect_failed(request->state_->start(*request), 1);
  release(request);
}

TEST_F(ProcessFailure, OfABufferedSend) {
  std::vector<unsigned char> buffer(1000000);
  BufferPool pool;
  ASSERT_TRUE(pool.attach(buffer.data(), static_cast<Count>(buffer.size()), false).ok());
  auto data = data_of(kLong);
  ASSERT_TRUE(pool.send(view_of(data), 1, {kContext, 0, 3}).ok());
  network().vanish(1, kLater);
  EXPECT_TRUE(pool.flush().ok());
}

Task exchange(std::vector<unsigned char>* data, int with) {
  Requests<2> requests;
  layout::View view;
  HR_CO_TRY(
      layout::make_view(data->data(), static_cast<Count>(data->size()), *layout::predefined_type(abi::kByte), &view));
  HR_CO_TRY(ireceive(view, {kContext, with, 2}, requests.next()));
  HR_CO_TRY(isend(view, with, {kContext, 0, 2}, Mode::kStandard, requests.next()));
  const Status status = co_await requests.all();
  co_return status;
}

Task wait_for_flag(bool* flag, std::uint32_t context) {
  const When set{[](void* argument) { return *static_cast<bool*>(argument); }, flag, context};
  HR_CO_TRY(co_await set);
  co_return kOk;
}

TEST_F(ProcessFailure, OfATask) {
  std::vector<unsigned char> data(10);
  network().vanish(1, kLater);
  expect_failed(run_blocking(exchange(&data, 1)), 1);
}

TEST_F(ProcessFailure, OfAWaitForAWordInMemory) {
  bool flag = false;
  bool own = false;
  Request* local = nullptr;
  ASSERT_TRUE(run_as_request(wait_for_flag(&own, When::kNoContext), nullptr, nullptr, &local).ok());
  network().vanish(2, kLater);
  expect_failed(run_blocking(wait_for_flag(&flag, kContext)), 2);
  expect_failed(run_blocking(wait_for_flag(&flag, kContext)), 2);
  EXPECT_FALSE(local->complete()) << "it depends on nobody";
  own = true;
  expect_ok(local);
}

// Revoked communicators use the same mechanism.
TEST_F(ProcessFailure, OfAContext) {
  std::vector<unsigned char> got(10);
  std::vector<unsigned char> other(10);
  auto data = data_of(8);
  network().refuse(1, kForEver);
  Request* receive = start_receive(got, 1, 5);
  Request* any = start_receive(got, abi::kAnySource, 6);
  Request* queued = start_send(data, 1, 5);
  Request* stays = nullptr;
  ASSERT_TRUE(ireceive(view_of(other), {kContext + 1, 1, 5}, &stays).ok());
  end_context(kContext, fail(Errc::kOther, "the communicator was revoked"));
  for (Request* each : {receive, any, queued}) {
    ASSERT_TRUE(each->complete());
    EXPECT_EQ(each->completion_.error.errc(), Errc::kOther);
    EXPECT_EQ(each->detail(), "the communicator was revoked");
    release(each);
  }
  Completion completion;
  EXPECT_EQ(probe({kContext, 1, 5}, &completion).errc(), Errc::kOther);
  bool flag = false;
  EXPECT_EQ(run_blocking(wait_for_flag(&flag, kContext)).errc(), Errc::kOther);
  EXPECT_FALSE(stays->complete());
  ASSERT_TRUE(cancel(*stays).ok());
  release(stays);
}

TEST_F(ProcessFailure, FinalizeDoesNotWaitForIt) {
  auto data = data_of(kLong);
  network().refuse(1, kForEver);
  Request* send = start_send(data, 1, 1);
  network().vanish(1, kLater);
  EXPECT_TRUE(finalize().ok());
  EXPECT_EQ(send->completion_.error.errc(), Errc::kProcFailed);
  release(send);
}

}  // namespace
}  // namespace hr::p2p
