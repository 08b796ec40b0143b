// The mock transport does exactly what a test requests.
#include "mock_transport/mock.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "boot/processes.hpp"

namespace hr::transport::mock {
namespace {

struct Arrived {
  int from;
  std::uint64_t number;
};
std::vector<Arrived> arrived;
std::vector<int> failed;

class MockTransport : public ::testing::Test {
 protected:
  const boot::Processes processes{"mock", 0, {0, 1, 2, 3}};

  void SetUp() override {
    arrived.clear();
    failed.clear();
    for (Handler& handler : handlers.of_kind) {
      handler = [](int from, const Header& header, const std::byte*, std::size_t) {
        arrived.push_back({from, header.words[1]});
      };
    }
    handlers.failed = [](int proc, Status why) {
      EXPECT_FALSE(why.ok());
      EXPECT_NE(take_detail().find(std::to_string(proc)), std::string::npos);
      failed.push_back(proc);
    };
    set_caps({.max_payload = 1 << 16, .remote_read = true});
    ASSERT_TRUE(kRecord.create({0, 4, processes, "mock"}, handlers, &transport).ok());
    ASSERT_NE(transport, nullptr);
  }
  static Header header(std::uint64_t number) { return {{1, number, 0}}; }
  Status send(int proc, std::uint64_t number) { return transport->send(proc, header(number), "abc", 3); }
  std::vector<std::uint64_t> sent_to(int proc) {
    std::vector<std::uint64_t> numbers;
    while (auto message = network()->take(proc)) numbers.push_back(message->header.words[1]);
    return numbers;
  }
  void rounds(int count) {
    for (int i = 0; i < count; ++i) transport->progress();
  }

  Handlers handlers;
  std::unique_ptr<Transport> transport;
};

TEST_F(MockTransport, MessagesArriveInOrderOneARound) {
  for (std::uint64_t i = 0; i < 3; ++i) network()->send_from(1, header(i));
  rounds(1);
  EXPECT_EQ(arrived.size(), 1U);
  rounds(5);
  ASSERT_EQ(arrived.size(), 3U);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(arrived[i].number, i);
}

TEST_F(MockTransport, HeldMessagesAreLateAndOvertakenOnesStayInOrder) {
  network()->send_from(1, header(0));
  network()->send_from(2, header(1));
  network()->send_from(2, header(2));
  network()->send_from(3, header(3));
  network()->hold(1, true);
  network()->overtake(3);
  rounds(9);
  network()->hold(1, false);
  rounds(9);
  std::vector<std::uint64_t> numbers;
  for (const Arrived& each : arrived) numbers.push_back(each.number);
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{3, 1, 2, 0}));
}

TEST_F(MockTransport, RefusesAndDropsAsManyAsOrdered) {
  network()->refuse(1, 2);
  EXPECT_TRUE(send(1, 0).is_again());
  EXPECT_EQ(transport->reserve(1, 8), nullptr);
  EXPECT_TRUE(send(2, 9).ok());
  network()->drop(1, 1);
  EXPECT_TRUE(send(1, 1).ok());
  EXPECT_TRUE(send(1, 2).ok());
  std::byte* slot = transport->reserve(1, 2);
  ASSERT_NE(slot, nullptr);
  std::memcpy(slot, "xy", 2);
  transport->commit(1, header(3));
  EXPECT_EQ(sent_to(1), (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(sent_to(2), (std::vector<std::uint64_t>{9}));
}

TEST_F(MockTransport, OperationsHappenWhenTheyAreComplete) {
  std::vector<std::byte> theirs(64, std::byte{7});
  std::vector<std::byte> ours(64, std::byte{1});
  const RemoteKey key = Network::key_of(theirs.data(), theirs.size());
  network()->complete_after(kForEver);
  const RemotePart part{reinterpret_cast<std::uint64_t>(theirs.data()), ours.data(), ours.size()};
  Operation put, flush, get;
  ASSERT_TRUE(transport->put(1, &key, {&part, 1}, &put).ok());
  ASSERT_TRUE(transport->flush(1, &flush).ok());
  rounds(10);
  EXPECT_FALSE(put.complete || flush.complete);
  EXPECT_EQ(theirs[0], std::byte{7});
  network()->complete_after(3);
  rounds(2);
  EXPECT_FALSE(put.complete);
  rounds(9);
  EXPECT_TRUE(put.complete && flush.complete);
  EXPECT_EQ(theirs, ours);
  network()->complete_after(0);
  theirs[5] = std::byte{9};
  ASSERT_TRUE(transport->get(1, &key, {&part, 1}, &get).ok());
  EXPECT_FALSE(get.complete);
  rounds(1);
  EXPECT_TRUE(get.complete);
  EXPECT_EQ(ours[5], std::byte{9});
}

TEST_F(MockTransport, WhatIsNotExposedIsNotReached) {
  std::vector<std::byte> theirs(64);
  std::vector<std::byte> ours(64);
  const RemoteKey key = Network::key_of(theirs.data(), 32);
  const RemotePart part{reinterpret_cast<std::uint64_t>(theirs.data()), ours.data(), 64};
  Operation done;
  EXPECT_FALSE(transport->put(1, &key, {&part, 1}, &done).ok());
  static_cast<void>(take_detail());
  EXPECT_TRUE(transport->get(1, nullptr, {&part, 1}, nullptr).ok());
  network()->refuse_memory(true);
  EXPECT_EQ(transport->get(1, nullptr, {&part, 1}, nullptr).errc(), Errc::kUnsupportedOperation);
}

TEST_F(MockTransport, AProcessVanishesAndThatIsReportedOnce) {
  network()->send_from(1, header(0));
  std::vector<std::byte> theirs(8);
  const RemoteKey key = Network::key_of(theirs.data(), 8);
  const RemotePart part{reinterpret_cast<std::uint64_t>(theirs.data()), theirs.data(), 8};
  Operation done, other;
  network()->complete_after(kForEver);
  ASSERT_TRUE(transport->put(1, &key, {&part, 1}, &done).ok());
  ASSERT_TRUE(transport->put(2, &key, {&part, 1}, &other).ok());
  network()->vanish(1, 5);
  rounds(4);
  EXPECT_TRUE(send(1, 1).ok()) << "nobody knows yet";
  EXPECT_TRUE(failed.empty());
  rounds(10);
  EXPECT_EQ(failed, std::vector<int>{1});
  EXPECT_TRUE(done.complete);
  EXPECT_FALSE(done.status.ok());
  EXPECT_FALSE(other.complete);
  EXPECT_FALSE(send(1, 2).ok());
  static_cast<void>(take_detail());
  EXPECT_TRUE(arrived.empty());
  EXPECT_TRUE(sent_to(1).empty());
  EXPECT_TRUE(send(2, 3).ok());
}

}  // namespace
}  // namespace hr::transport::mock
