// Choices of rendezvous protocols on the mock transport: stored per message class and peer, and revised.
#include "base/clock.hpp"
#include "mock_test.hpp"
#include "p2p/progress.hpp"
#include "p2p/protocol/choice.hpp"

namespace hr::p2p {

extern const Rendezvous kSingleCopy;

namespace {

using wire::Kind;

constexpr std::size_t kLong = 200001;

class Choices : public OnMock {
 protected:
  void SetUp() override {
    transport::mock::set_caps({.inline_bytes = 64,
                               .max_payload = std::size_t{64} << 10,
                               .chunk_bytes = std::size_t{16} << 10,
                               .remote_read = true,
                               .latency_seconds = 1e-6,
                               .bytes_per_second = 1e9,
                               .host_memory = {1e-6, 4e9}});
    OnMock::SetUp();
  }
  static const transport::Caps& caps() {
    Peer* peer = nullptr;
    EXPECT_TRUE(connected_peer(1, &peer).ok());
    return peer->caps;
  }
  static MessageClass host_message(std::size_t bytes) {
    MessageClass message;
    message.bytes = bytes;
    message.readable = true;
    return message;
  }
  // Receives a rendezvous message of that process, which takes some time; returns the kind of its protocol.
  static Kind transfer(int proc, std::size_t bytes, double read_seconds, double stream_seconds) {
    const auto sent = data_of(bytes);
    std::vector<unsigned char> got(bytes, 0xee);
    Request* receive = start_receive(got, proc, 1);
    network().delay_copies(read_seconds);
    send_rts_from(proc, 1, 5151, sent, true);
    for (int round = 0; round < kBound && network().waiting(proc) == 0; ++round) poll();
    const auto answer = network().take(proc);
    if (!answer) {
      ADD_FAILURE() << "no answer";
      return Kind::kDone;
    }
    if (kind_of(*answer) == Kind::kCts) {
      const double until = now_seconds() + stream_seconds;
      while (now_seconds() < until) {
      }
      const auto cts = payload_of<wire::Cts>(*answer);
      for (std::size_t at = 0; at < bytes; at += 50000)
        network().send_from(proc, wire::data(cts.receiver_cookie, at), sent.data() + at,
                            std::min<std::size_t>(50000, bytes - at));
    }
    expect_ok(receive);
    EXPECT_EQ(got, sent);
    return kind_of(*answer);
  }
};

TEST_F(Choices, AreKeptForAClassAndAPeer) {
  Choice& one = choice_of(1, host_message(1 << 20), caps());
  EXPECT_EQ(&choice_of(1, host_message(1 << 20), caps()), &one);
  EXPECT_NE(&choice_of(1, host_message(1 << 21), caps()), &one);
  EXPECT_NE(&choice_of(2, host_message(1 << 20), caps()), &one);
  EXPECT_EQ(&choice_of(1, host_message(1 << 20), caps()), &one);
  ASSERT_EQ(one.count(), 2U);
  EXPECT_STREQ(one.at(0).name, "single_copy");
  EXPECT_STREQ(one.at(1).name, "stream");
  EXPECT_NE(one.autotune(), nullptr);
}

// The figures are queried once: later changes have no effect.
TEST_F(Choices, AreNotMadeAgainForEachMessage) {
  Choice& one = choice_of(1, host_message(1 << 20), caps());
  transport::Caps other = caps();
  other.remote_read = false;
  EXPECT_EQ(choice_of(1, host_message(1 << 20), other).count(), 2U);
  EXPECT_EQ(&one, &choice_of(1, host_message(1 << 20), other));
  EXPECT_EQ(choice_of(2, host_message(1 << 20), other).count(), 1U);
}

// Between two messages, the library discovers that the GPUs are time-sliced.
TEST_F(Choices, TimeSlicesThatAreFoundOutChangeThem) {
  MessageClass message = host_message(1 << 20);
  message.flags = wire::kDevice | wire::kMovable | wire::kView;
  message.to = mem::Kind::kDevice;
  transport::Caps near = caps();
  near.same_node = true;
  EXPECT_STREQ(choice_of(1, message, near).at(0).name, "device_get");
  message.time_sliced = true;
  EXPECT_STREQ(choice_of(1, message, near).at(0).name, "staged");
}

TEST_F(Choices, ADisabledProtocolIsGoneFromAllOfThatPeer) {
  const MessageClass one_class = host_message(1 << 20), other_class = host_message(1 << 21);
  Choice& one = choice_of(1, one_class, caps());
  Choice& other = choice_of(1, other_class, caps());
  Choice& other_peer = choice_of(2, one_class, caps());
  Autotune* const autotune = one.autotune();
  const Autotune* const autotune_of_other_peer = other_peer.autotune();
  ASSERT_TRUE(autotune->begin(1));
  disable(kSingleCopy, 1);
  for (const Choice* each : {&choice_of(1, one_class, caps()), &choice_of(1, other_class, caps())}) {
    ASSERT_EQ(each->count(), 1U);
    EXPECT_STREQ(each->at(0).name, "stream");
    EXPECT_EQ(each->autotune(), nullptr);
  }
  EXPECT_EQ(&one, &choice_of(1, one_class, caps()));
  EXPECT_EQ(&other, &choice_of(1, other_class, caps()));
  EXPECT_EQ(choice_of(1, host_message(1 << 22), caps()).count(), 1U) << "a class that is new";
  autotune->end(1 << 20, 2);  // the end of a pending message
  EXPECT_EQ(choice_of(2, one_class, caps()).count(), 2U);
  EXPECT_EQ(choice_of(2, one_class, caps()).autotune(), autotune_of_other_peer) << "what was tried is known";
}

// Messages determine the choice, and the choice the protocol of messages: first reads, then streams.
TEST_F(Choices, AutotuningDecides) {
  constexpr double kQuick = 1e-6, kSlow = 20e-3;  // far apart, so that a busy machine changes nothing
  int read = 0;
  for (int i = 0; i < 60; ++i) read += transfer(1, kLong, kSlow, kQuick) == Kind::kDone ? 1 : 0;
  // Settling takes 2 MiB.
  EXPECT_EQ(read, 11 + 8);
  EXPECT_EQ(transfer(1, kLong, kSlow, kQuick), Kind::kCts);
  EXPECT_EQ(transfer(2, kLong, kSlow, kQuick), Kind::kDone) << "another peer";
  EXPECT_EQ(transfer(1, 2 * kLong, kSlow, kQuick), Kind::kDone) << "another class";
  EXPECT_EQ(transfer(1, kLong - 50000, kSlow, kQuick), Kind::kCts) << "the same class";
}

TEST_F(Choices, WhatTheSystemRefusesIsNotAskedAgain) {
  network().refuse_memory(true);
  EXPECT_EQ(transfer(1, kLong, 0, 0), Kind::kCts);
  network().refuse_memory(false);
  EXPECT_EQ(transfer(1, kLong, 0, 0), Kind::kCts);
  EXPECT_EQ(transfer(1, 2 * kLong, 0, 0), Kind::kCts) << "another class";
  EXPECT_EQ(network().copies(), 0U);
  EXPECT_EQ(transfer(2, kLong, 0, 0), Kind::kDone) << "another peer";
}

}  // namespace
}  // namespace hr::p2p
