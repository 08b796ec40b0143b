// The ring: order, contents, back-pressure and wrap-around, with a producer and a consumer on two threads.
#include "transport/shm/ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/knobs.hpp"

namespace hr::transport::shm {
namespace {

constexpr std::size_t kPayload = 16384;

struct RingFixture : testing::Test {
  RingFixture() {
    memory = static_cast<RingMemory*>(std::aligned_alloc(4096, ring_footprint(kPayload)));
    std::memset(static_cast<void*>(memory), 0, sizeof(RingMemory));
    // Stale bytes must never be taken for a message.
    std::memset(memory->payload(), 0xff, kPayload);
  }
  ~RingFixture() override { std::free(memory); }
  RingMemory* memory;
};

struct Arrived {
  Header header;
  std::vector<std::byte> payload;
};
std::vector<Arrived> arrived;

void collect(int /*from*/, const Header& header, const std::byte* payload, std::size_t bytes) {
  arrived.push_back({header, std::vector<std::byte>(payload, payload + bytes)});
}

const MessageHandlers kCollect = [] {
  MessageHandlers handlers;
  handlers.fill(collect);
  return handlers;
}();

std::byte pattern(std::uint64_t message, std::size_t at) { return static_cast<std::byte>(message * 31 + at * 7 + 1); }

std::vector<std::byte> make_payload(std::uint64_t message, std::size_t bytes) {
  std::vector<std::byte> payload(bytes);
  for (std::size_t at = 0; at < bytes; ++at) payload[at] = pattern(message, at);
  return payload;
}

TEST_F(RingFixture, EmptyRingIsNotReady) {
  Consumer consumer(memory);
  EXPECT_FALSE(consumer.ready());
}

TEST_F(RingFixture, CellsRunOutAndComeBack) {
  Producer producer(memory, kPayload);
  Consumer consumer(memory);
  for (std::uint64_t i = 0; i < kCells; ++i) ASSERT_TRUE(producer.send({{i, 0, 0}}, &i, sizeof i));
  const std::uint64_t extra = 7;
  EXPECT_FALSE(producer.send({{0, 0, 0}}, &extra, sizeof extra));
  EXPECT_EQ(producer.reserve(8), nullptr);
  arrived.clear();
  consumer.take(3, kCollect);
  EXPECT_TRUE(producer.send({{kCells, 0, 0}}, &extra, sizeof extra));
  while (consumer.ready()) consumer.take(3, kCollect);
  ASSERT_EQ(arrived.size(), kCells + 1);
  for (std::uint64_t i = 0; i <= kCells; ++i) EXPECT_EQ(arrived[i].header.words[0], i);
}

// A ring whose cells are backed step by step: the cell after the last message always has memory, as the consumer polls
// it, and a consumer that reads in time does not spare the producer the rest of the cells.
TEST_F(RingFixture, CellsWithoutMemoryAreNotTouched) {
  constexpr std::uint64_t kBacked = 31;
  const auto untouched = [&](std::uint64_t first) {
    for (std::uint64_t i = first; i < kCells; ++i) EXPECT_EQ(memory->cells[i].sequence.load(), 0U) << i;
  };
  Producer producer(memory, kPayload, kPayload, nullptr, kBacked);
  Consumer consumer(memory);
  arrived.clear();
  for (std::uint64_t i = 0; i < kBacked - 1; ++i) {
    ASSERT_FALSE(producer.wants_cells());
    ASSERT_TRUE(i % 2 == 0 ? producer.send_short({{i, 0, 0}}, &i, sizeof i) : producer.send({{i, 0, 0}}, &i, sizeof i));
    consumer.take(3, kCollect);
  }
  const std::uint64_t extra = 7;
  EXPECT_FALSE(producer.send_short({{kBacked, 0, 0}}, &extra, sizeof extra));
  EXPECT_FALSE(producer.send({{kBacked, 0, 0}}, &extra, sizeof extra));
  EXPECT_EQ(producer.reserve(8), nullptr);
  EXPECT_TRUE(producer.wants_cells());
  EXPECT_FALSE(consumer.ready());
  untouched(kBacked - 1);
  producer.back_cells(kCells);
  EXPECT_FALSE(producer.wants_cells());
  for (std::uint64_t i = kBacked - 1; i < 3 * kCells; ++i) {
    ASSERT_TRUE(producer.send({{i, 0, 0}}, &i, sizeof i));
    if (i % 3 == 2)
      while (consumer.ready()) consumer.take(3, kCollect);
  }
  while (consumer.ready()) consumer.take(3, kCollect);
  ASSERT_EQ(arrived.size(), 3 * kCells);
  for (std::uint64_t i = 0; i < arrived.size(); ++i) EXPECT_EQ(arrived[i].header.words[0], i);
}

// The backed cells are the whole ring: messages that fit into a cell need no more memory, in any number.
TEST_F(RingFixture, CellsThatGetNoMoreMemoryAreTheWholeRing) {
  constexpr std::uint64_t kBacked = 31;
  constexpr std::uint64_t kMessages = 3000;
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Producer producer(memory, kPayload, 0, nullptr, kBacked);
  Consumer consumer(memory);
  arrived.clear();
  std::uint64_t sent = 0;
  while (sent < kMessages) {
    for (unsigned wanted = random() % 40; wanted != 0 && sent < kMessages; --wanted) {
      const auto payload = make_payload(sent, random() % (kInlineBytes + 1));
      if (!producer.send({{sent, 0, 0}}, payload.data(), payload.size())) {
        if (!producer.wants_cells()) break;
        producer.settle_cells();
        continue;
      }
      ++sent;
      ASSERT_LT(sent - arrived.size(), kBacked);
    }
    for (unsigned most = random() % 40; most != 0 && consumer.ready(); --most) consumer.take(3, kCollect);
  }
  while (consumer.ready()) consumer.take(3, kCollect);
  ASSERT_EQ(arrived.size(), kMessages);
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    EXPECT_EQ(arrived[i].header.words[0], i);
    EXPECT_EQ(arrived[i].payload, make_payload(i, arrived[i].payload.size()));
  }
  for (std::uint64_t i = kBacked; i < kCells; ++i) EXPECT_EQ(memory->cells[i].sequence.load(), 0U) << i;
  // A full ring refuses a message until one is taken, and never asks for memory.
  const std::uint64_t extra = 7;
  int full = 0;
  while (producer.send({{0, 0, 0}}, &extra, sizeof extra)) ++full;
  EXPECT_GT(full, 0);
  EXPECT_LT(full, static_cast<int>(kBacked));
  EXPECT_FALSE(producer.wants_cells());
  EXPECT_EQ(producer.wanted(), 0U);
  while (consumer.ready()) consumer.take(3, kCollect);
  EXPECT_TRUE(producer.send({{0, 0, 0}}, &extra, sizeof extra));
}

// A message that is refused because the cells are full must not count as one for which the byte ring has no memory.
TEST_F(RingFixture, AFullRingForgetsWhatAnEarlierPayloadWanted) {
  Producer producer(memory, kPayload, 0);
  const std::vector<std::byte> payload(kInlineBytes + 1);
  EXPECT_FALSE(producer.send({{0, 0, 0}}, payload.data(), payload.size()));
  EXPECT_NE(producer.wanted(), 0U);
  while (producer.send({{0, 0, 0}}, payload.data(), 8)) {
  }
  EXPECT_EQ(producer.wanted(), 0U);
}

TEST_F(RingFixture, ShortMessagesStopAtAFullRing) {
  Producer producer(memory, kPayload);
  Consumer consumer(memory);
  std::uint64_t next = 0;
  const auto send_short = [&] { return producer.send_short({{next, 0, 0}}, &next, sizeof next) && ++next != 0; };
  for (std::uint64_t i = 0; i < kCells; ++i) ASSERT_TRUE(send_short());
  EXPECT_FALSE(send_short());
  arrived.clear();
  consumer.take(3, kCollect);
  ASSERT_TRUE(producer.send({{next, 0, 0}}, &next, sizeof next));  // this checks how much has been consumed
  ++next;
  EXPECT_FALSE(send_short());
  while (consumer.ready()) consumer.take(3, kCollect);
  ASSERT_EQ(arrived.size(), next);
  for (std::uint64_t i = 0; i < next; ++i) EXPECT_EQ(arrived[i].header.words[0], i);
}

TEST_F(RingFixture, PayloadSpaceRunsOut) {
  Producer producer(memory, kPayload);
  Consumer consumer(memory);
  const auto half = make_payload(1, kPayload / 2);
  EXPECT_TRUE(producer.send({{0, 0, 0}}, half.data(), half.size()));
  EXPECT_TRUE(producer.send({{1, 0, 0}}, half.data(), half.size()));
  EXPECT_FALSE(producer.send({{2, 0, 0}}, half.data(), kInlineBytes + 1));
  arrived.clear();
  consumer.take(0, kCollect);
  EXPECT_TRUE(producer.send({{2, 0, 0}}, half.data(), half.size()));
}

TEST_F(RingFixture, UsesOnlyWhatHasMemoryAndSaysWhatItWants) {
  constexpr std::size_t kUsable = 4096;
  Producer producer(memory, kPayload, kUsable);
  Consumer consumer(memory);
  const auto exchange = [&](std::uint64_t message, std::size_t bytes) {
    const auto payload = make_payload(message, bytes);
    if (!producer.send({{message, 0, 0}}, payload.data(), bytes)) return false;
    arrived.clear();
    while (consumer.ready()) consumer.take(0, kCollect);
    EXPECT_EQ(arrived.size(), 1U);
    EXPECT_EQ(arrived[0].payload, payload) << "message " << message;
    return true;
  };
  ASSERT_TRUE(exchange(0, 3000));
  EXPECT_EQ(producer.wanted(), 0U);
  EXPECT_FALSE(exchange(1, 3000));
  EXPECT_EQ(producer.wanted(), 3008U + 3008U);
  producer.grow(2 * kUsable);
  EXPECT_EQ(producer.wanted(), 0U);
  ASSERT_TRUE(exchange(1, 3000));

  // No more memory is available: nothing is sent while a message is pending, then all messages use the existing memory.
  const auto kept = make_payload(2, 2000);
  ASSERT_TRUE(producer.send({{2, 0, 0}}, kept.data(), kept.size()));
  EXPECT_EQ(producer.reserve(3000), nullptr);
  EXPECT_NE(producer.wanted(), 0U);
  producer.settle();
  EXPECT_EQ(producer.reserve(3000), nullptr);
  EXPECT_EQ(producer.wanted(), 0U);
  arrived.clear();
  consumer.take(0, kCollect);
  ASSERT_EQ(arrived[0].payload, kept);
  for (std::uint64_t message = 3; message < 300; ++message) ASSERT_TRUE(exchange(message, 33 + message * 97 % 8000));
  EXPECT_EQ(producer.reserve(2 * kUsable + 1), nullptr);
  EXPECT_NE(producer.wanted(), 0U);
  for (std::size_t at = 2 * kUsable; at < kPayload; ++at) ASSERT_EQ(memory->payload()[at], std::byte{0xff}) << at;
}

// A ring of the greatest length for a pair.
struct LongRing : testing::Test {
  static constexpr std::size_t kLong = std::size_t{2} << 20;
  LongRing() {
    memory = static_cast<RingMemory*>(std::aligned_alloc(4096, ring_footprint(kLong)));
    std::memset(static_cast<void*>(memory), 0, sizeof(RingMemory));
    std::memset(memory->payload(), 0xff, kLong);
    arrived.clear();
  }
  ~LongRing() override { std::free(memory); }
  RingMemory* memory;
};

// A message fits into an empty ring, even if the remaining part of the lap is shorter; a message longer than the ring
// never fits.
TEST_F(LongRing, WhatFitsAnEmptyRingGoes) {
  Producer producer(memory, kLong);
  Consumer consumer(memory);
  for (std::uint64_t message = 0; message < 4; ++message) {
    const auto payload = make_payload(message, kLong - 40 * message);
    ASSERT_TRUE(producer.send({{message, 0, 0}}, payload.data(), payload.size())) << message;
    EXPECT_EQ(producer.reserve(kInlineBytes + 1), nullptr);
    arrived.clear();
    consumer.take(0, kCollect);
    ASSERT_EQ(arrived.size(), 1U);
    EXPECT_EQ(arrived[0].payload, payload);
  }
  EXPECT_EQ(producer.reserve(kLong + 1), nullptr);
  EXPECT_GT(producer.wanted(), kLong);
}

// Several laps, with memory that grows in steps, and a reader that lags by a varying amount.
TEST_F(LongRing, RandomMessagesArriveInOrderAndWhole) {
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", static_cast<int>(seed));
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::size_t usable = 65536;
  Producer producer(memory, kLong, usable);
  Consumer consumer(memory);
  std::uint64_t sent = 0;
  std::uint64_t taken = 0;
  std::size_t most = 0;
  std::vector<std::size_t> size_of;
  for (std::size_t bytes = 0; bytes < 16 * kLong;) {
    const std::size_t size = random() % 8 == 0 ? random() % (kLong / 8) : random() % 30000;
    const auto payload = make_payload(sent, size);
    while (!producer.send({{sent, 0, 0}}, payload.data(), size)) {
      if (producer.wanted() != 0) {
        usable = std::min(std::max(producer.wanted(), 2 * usable), kLong);
        producer.grow(usable);
        continue;
      }
      ASSERT_TRUE(consumer.ready()) << "full and empty";
      consumer.take(0, kCollect);
    }
    ++sent;
    bytes += size;
    size_of.push_back(size);
    while (random() % 4 == 0 && consumer.ready()) consumer.take(0, kCollect);
    for (const Arrived& message : arrived) {
      ASSERT_EQ(message.header.words[0], taken);
      ASSERT_EQ(message.payload, make_payload(taken, size_of[taken])) << "message " << taken;
      ++taken;
    }
    arrived.clear();
    most = usable;
  }
  EXPECT_EQ(most, kLong) << "the whole ring was not used";
}

TEST(Ring, LapsComeRoundWithoutMeetingTheOneBefore) {
  constexpr std::uint64_t kLast = (std::uint64_t{1} << 32) * kCells;
  EXPECT_EQ(lap_of(0), 1U);
  EXPECT_EQ(lap_of(kCells - 1), 1U);
  EXPECT_EQ(lap_of(kCells), 2U);
  EXPECT_EQ(lap_of(kLast - kCells), 0U);
  EXPECT_EQ(lap_of(kLast), 1U);
}

// Values of the knob shm_nontemporal_stores.
struct RingWays : RingFixture, testing::WithParamInterface<const char*> {
  RingWays() { EXPECT_TRUE(set_knob("shm_nontemporal_stores", GetParam())); }
  ~RingWays() override { EXPECT_TRUE(set_knob("shm_nontemporal_stores", "auto")); }
};
INSTANTIATE_TEST_SUITE_P(NontemporalCopy, RingWays, testing::Values("auto", "on", "off"),
                         [](const auto& way) { return std::string(way.param); });

TEST_P(RingWays, RandomMessagesArriveInOrderAndWhole) {
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", static_cast<int>(seed));
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  constexpr std::uint64_t kMessages = 20000;
  std::mt19937 sizes(seed);
  std::vector<std::size_t> size_of(kMessages);
  for (auto& size : size_of) size = sizes() % 4 == 0 ? sizes() % (kPayload / 2) : sizes() % 80;

  std::thread sender([&] {
    Producer producer(memory, kPayload);
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      const auto payload = make_payload(i, size_of[i]);
      const Header header{{i, ~i, size_of[i]}};
      if (i % 5 < 2) producer.note_reply();
      if (i % 3 == 0) {
        std::byte* slot = nullptr;
        while ((slot = producer.reserve(payload.size())) == nullptr) std::this_thread::yield();
        if (!payload.empty()) std::memcpy(slot, payload.data(), payload.size());
        producer.commit(header);
      } else {
        while (!producer.send(header, payload.data(), payload.size())) std::this_thread::yield();
      }
    }
  });
  Consumer consumer(memory);
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    while (!consumer.ready()) std::this_thread::yield();
    arrived.clear();
    consumer.take(0, kCollect);
    ASSERT_EQ(arrived.size(), 1U);
    ASSERT_EQ(arrived[0].header.words[0], i);
    ASSERT_EQ(arrived[0].header.words[1], ~i);
    ASSERT_EQ(arrived[0].payload, make_payload(i, size_of[i])) << "message " << i;
  }
  sender.join();
  EXPECT_FALSE(consumer.ready());
}

}  // namespace
}  // namespace hr::transport::shm
