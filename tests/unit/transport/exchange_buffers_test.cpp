// ExchangeBuffers: payloads of two processes that send alternately share the same memory, without any other effect.
#include "transport/shm/exchange_buffers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/knobs.hpp"
#include "transport/shm/ring.hpp"
#include "transport/shm/segment.hpp"

namespace hr::transport::shm {
namespace {

constexpr std::size_t kPayload = 262144;
constexpr std::size_t kExchangeBufferMemory = kMaxExchangeBuffers * kExchangeBufferBytes;

std::vector<std::byte> make_payload(std::uint64_t message, std::size_t bytes) {
  std::vector<std::byte> payload(bytes);
  for (std::size_t at = 0; at < bytes; ++at) payload[at] = static_cast<std::byte>(message * 31 + at * 7 + 1);
  return payload;
}

thread_local std::vector<std::byte> arrived;
thread_local const std::byte* arrived_at = nullptr;
thread_local std::uint64_t arrived_number = 0;
void collect(int /*from*/, const Header& header, const std::byte* payload, std::size_t bytes) {
  arrived.assign(payload, payload + bytes);
  arrived_at = payload;
  arrived_number = header.words[0];
}

const MessageHandlers kCollect = [] {
  MessageHandlers handlers;
  handlers.fill(collect);
  return handlers;
}();

// One of two processes. The process with the lower number creates the exchange buffers.
struct Side {
  Side(RingMemory* out, RingMemory* in, std::byte* memory, int room, bool lower)
      : exchange_buffers(memory, room, lower),
        producer(out, kPayload, kPayload, &exchange_buffers),
        consumer(in, &exchange_buffers) {}

  void send(std::uint64_t number, std::size_t bytes, bool reserves = false) {
    const auto payload = make_payload(number, bytes);
    if (producer.wants_exchange_buffer(bytes)) exchange_buffers.make();
    const Header header{{number, 0, 0}};
    if (reserves) {
      std::byte* slot = nullptr;
      while ((slot = producer.reserve(bytes)) == nullptr) std::this_thread::yield();
      if (bytes != 0) std::memcpy(slot, payload.data(), bytes);
      producer.commit(header);
    } else {
      while (!producer.send(header, payload.data(), bytes)) std::this_thread::yield();
    }
  }
  void receive(std::uint64_t number, std::size_t bytes) {
    while (!consumer.ready()) std::this_thread::yield();
    consumer.take(0, kCollect);
    ASSERT_EQ(arrived_number, number);
    ASSERT_EQ(arrived, make_payload(number, bytes)) << "message " << number;
    producer.note_reply();
  }

  ExchangeBuffers exchange_buffers;
  Producer producer;
  Consumer consumer;
};

struct ExchangeBuffersFixture : testing::Test {
  ExchangeBuffersFixture() {
    // Exchange buffers are for near readers. On AMD processors loads decide, which the thread sanitizer slows down.
    EXPECT_TRUE(set_knob("shm_nontemporal_stores", "off"));
    for (RingMemory*& ring : rings) {
      ring = static_cast<RingMemory*>(std::aligned_alloc(4096, ring_footprint(kPayload)));
      std::memset(static_cast<void*>(ring), 0, sizeof(RingMemory));
      std::memset(ring->payload(), 0xff, kPayload);
    }
    memory = static_cast<std::byte*>(std::aligned_alloc(4096, kExchangeBufferMemory));
    std::memset(memory, 0xff, kExchangeBufferMemory);
  }
  ~ExchangeBuffersFixture() override {
    for (RingMemory* ring : rings) std::free(ring);
    std::free(memory);
    EXPECT_TRUE(set_knob("shm_nontemporal_stores", "auto"));
  }
  [[nodiscard]] Side side(bool lower, int room = kMaxExchangeBuffers) {
    return {rings[lower ? 0 : 1], rings[lower ? 1 : 0], memory, room, lower};
  }
  [[nodiscard]] bool came_by_exchange_buffer() const {
    return arrived_at >= memory && arrived_at < memory + kExchangeBufferMemory;
  }

  std::array<RingMemory*, 2> rings;
  std::byte* memory;
};

TEST_F(ExchangeBuffersFixture, AnswersLieWhereTheMessagesLay) {
  Side lower = side(true);
  Side higher = side(false);
  std::uint64_t number = 0;
  int by_exchange_buffer = 0;
  for (int ping_pong = 0; ping_pong < 40; ++ping_pong) {
    lower.send(number, 5000);
    higher.receive(number++, 5000);
    const std::byte* const place = arrived_at;
    by_exchange_buffer += came_by_exchange_buffer() ? 1 : 0;
    higher.send(number, 4000);
    lower.receive(number++, 4000);
    EXPECT_EQ(came_by_exchange_buffer(), place >= memory && place < memory + kExchangeBufferMemory);
    if (came_by_exchange_buffer()) {
      EXPECT_EQ(arrived_at, place);
    }
  }
  // The first payloads used the rings; one exchange buffer was sufficient.
  EXPECT_GE(by_exchange_buffer, 20);
  EXPECT_LT(by_exchange_buffer, 40);
  EXPECT_EQ(lower.exchange_buffers.made(), 1);
}

TEST_F(ExchangeBuffersFixture, WhoIsNotAnsweredInKindGoesOnThroughTheRing) {
  Side lower = side(true);
  Side higher = side(false);
  int by_exchange_buffer = 0;
  for (std::uint64_t number = 0; number < 60; ++number) {
    lower.send(number, 3000);
    higher.receive(number, 3000);
    by_exchange_buffer += came_by_exchange_buffer() ? 1 : 0;
    higher.send(number, 8);
    lower.receive(number, 8);
  }
  EXPECT_EQ(by_exchange_buffer, kMaxExchangeBuffers);
  EXPECT_EQ(lower.exchange_buffers.made(), kMaxExchangeBuffers);
}

TEST_F(ExchangeBuffersFixture, WhatDoesNotFitGoesThroughTheRing) {
  Side lower = side(true);
  Side higher = side(false);
  for (std::uint64_t number = 0; number < 60; ++number) {
    lower.send(number, kExchangeBufferBytes + 1);
    higher.receive(number, kExchangeBufferBytes + 1);
    EXPECT_FALSE(came_by_exchange_buffer());
    higher.send(number, kExchangeBufferBytes + 1);
    lower.receive(number, kExchangeBufferBytes + 1);
    EXPECT_FALSE(came_by_exchange_buffer());
  }
  EXPECT_EQ(lower.exchange_buffers.made(), 0);
}

TEST_F(ExchangeBuffersFixture, NoneWhereThereIsNoRoomForThem) {
  Side lower = side(true, 0);
  Side higher = side(false, 0);
  for (std::uint64_t number = 0; number < 60; ++number) {
    lower.send(number, 4096);
    higher.receive(number, 4096);
    EXPECT_FALSE(came_by_exchange_buffer());
    higher.send(number, 4096);
    lower.receive(number, 4096);
  }
}

// In each turn, both sides send some messages of any length, and then read those of the other side: simultaneous
// exchanges as well as alternating messages.
TEST_F(ExchangeBuffersFixture, RandomPingPongsArriveInOrderAndWhole) {
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", static_cast<int>(seed));
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  constexpr int kPingPongs = 3000;
  struct PingPong {
    std::vector<std::size_t> lower;
    std::vector<std::size_t> higher;
    bool at_once;
  };
  std::mt19937 random(seed);
  std::vector<PingPong> ping_pongs(kPingPongs);
  const auto draw = [&](std::vector<std::size_t>& sizes) {
    sizes.resize(random() % 5);
    for (auto& size : sizes) size = random() % 3 == 0 ? random() % (kExchangeBufferBytes + 2000) : random() % 3000;
  };
  for (PingPong& ping_pong : ping_pongs) {
    draw(ping_pong.lower);
    draw(ping_pong.higher);
    ping_pong.at_once = random() % 2 == 0;
  }
  const auto run = [&](bool is_lower) {
    Side own = side(is_lower);
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    for (const PingPong& ping_pong : ping_pongs) {
      const auto send = [&] {
        for (const std::size_t bytes : is_lower ? ping_pong.lower : ping_pong.higher) {
          own.send(sent, bytes, sent % 3 == 0);
          ++sent;
        }
      };
      const auto receive = [&] {
        for (const std::size_t bytes : is_lower ? ping_pong.higher : ping_pong.lower) {
          own.receive(received++, bytes);
          if (testing::Test::HasFatalFailure()) return;
        }
      };
      if (is_lower || ping_pong.at_once) send();
      receive();
      if (!is_lower && !ping_pong.at_once) send();
    }
    EXPECT_FALSE(own.consumer.ready());
  };
  std::thread other(run, false);
  run(true);
  other.join();
}

TEST(SegmentExchangeBuffers, PairsDoNotShareBuffers) {
  constexpr int kProcesses = 4;
  const std::string path = "/dev/shm/headrace.unit." + std::to_string(::getpid()) + ".exchange_buffers";
  Segment segment;
  ASSERT_TRUE(segment.create(path, {kProcesses, 16384, 8192, 2}).ok());
  std::vector<Segment> others(kProcesses - 1);
  for (Segment& other : others) ASSERT_TRUE(other.attach(segment.name(), {kProcesses, 16384, 8192, 2}).ok());
  std::uint8_t mark = 1;
  for (int low = 0; low < kProcesses; ++low) {
    for (int high = low + 1; high < kProcesses; ++high, ++mark) {
      ASSERT_TRUE(segment.reserve_exchange_buffer(low, high, 0).ok());
      ASSERT_TRUE(segment.reserve_exchange_buffer(low, high, 1).ok());
      std::memset(segment.exchange_buffers(low, high), mark, 2 * kExchangeBufferBytes);
    }
  }
  for (int process = 0; process < kProcesses; ++process) {
    ASSERT_TRUE(segment.reserve_staging(process).ok());
    std::memset(segment.staging(process).data(), 0xee, 8192);
  }
  mark = 1;
  for (int low = 0; low < kProcesses; ++low) {
    for (int high = low + 1; high < kProcesses; ++high, ++mark) {
      const std::byte* const memory = others[1].exchange_buffers(high, low);
      EXPECT_TRUE(
          std::all_of(memory, memory + 2 * kExchangeBufferBytes, [&](std::byte b) { return b == std::byte{mark}; }));
    }
  }
}

}  // namespace
}  // namespace hr::transport::shm
