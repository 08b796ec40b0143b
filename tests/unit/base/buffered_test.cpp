#include "base/buffered.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace hr {
namespace {

const counters::Level& level(counters::Buffers of) { return counters::page.buffers[static_cast<std::size_t>(of)]; }

TEST(Buffered, CountsUntilItEnds) {
  const counters::Value before = level(counters::Buffers::kUcx).now;
  {
    Buffered one(counters::Buffers::kUcx);
    Buffered other(counters::Buffers::kUcx);
    one.take(100);
    other.take(30);
    one.give_back(60);
    EXPECT_EQ(level(counters::Buffers::kUcx).now, before + 70);
    one.raise(50);
    one.raise(20);
    EXPECT_EQ(level(counters::Buffers::kUcx).now, before + 80);
  }
  EXPECT_EQ(level(counters::Buffers::kUcx).now, before);
  EXPECT_GE(level(counters::Buffers::kUcx).most, before + 130);
}

TEST(Buffered, CountsFromSeveralThreads) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20'000;
  const counters::Value before = level(counters::Buffers::kOfi).now;
  std::vector<std::thread> threads;
  for (int each = 0; each < kThreads; ++each) {
    threads.emplace_back([] {
      Buffered own(counters::Buffers::kOfi);
      for (int round = 0; round < kRounds; ++round) {
        own.take(7);
        if (round % 2 != 0) own.give_back(14);
      }
      own.take(1000);
      own.give_back(1000);
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(level(counters::Buffers::kOfi).now, before);
  EXPECT_GE(level(counters::Buffers::kOfi).most, before + 1000);
  EXPECT_LE(level(counters::Buffers::kOfi).most, before + kThreads * 1014);
}

}  // namespace
}  // namespace hr
