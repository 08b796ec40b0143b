// Claims: two sides, or only one, claim every byte of a copy exactly once, at any relative speed.
#include "p2p/core/claims.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace hr::p2p {
namespace {

constexpr std::uint32_t kGeneration = 7;

void mark(std::vector<unsigned char>& taken, const Claims::Part& part) {
  for (std::size_t at = part.begin; at < part.begin + part.bytes; ++at) ++taken[at];
}

void expect_each_once(const std::vector<unsigned char>& front, const std::vector<unsigned char>& back,
                      std::size_t front_bytes) {
  for (std::size_t at = 0; at < front.size(); ++at) {
    ASSERT_EQ(front[at], at < front_bytes ? 1 : 0) << at;
    ASSERT_EQ(back[at], at < front_bytes ? 0 : 1) << at;
  }
}

TEST(Claims, InterleavedAtRandom) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const std::size_t bytes = 1 + random() % (90 * Claims::kGranule);
    std::atomic<std::uint64_t> word{random()};
    Claims front(word, kGeneration, bytes), back(word, kGeneration, bytes);
    front.open();
    std::vector<unsigned char> from_front(bytes), from_back(bytes);
    const unsigned share = random() % 5;  // 0: only the front claims; 4: only the back
    for (bool more = true; more;) {
      const bool at_back = random() % 4 < share;
      const Claims::Part part = at_back ? back.from_back() : front.from_front();
      ASSERT_LE(part.bytes, Claims::kMost * Claims::kGranule);
      mark(at_back ? from_back : from_front, part);
      more = part.bytes != 0;
    }
    ASSERT_EQ(front.from_front().bytes, 0U);
    ASSERT_EQ(back.from_back().bytes, 0U);
    expect_each_once(from_front, from_back, front.front_bytes());
  }
}

TEST(Claims, AtOnce) {
  constexpr std::size_t kBytes = 1000 * Claims::kGranule - 5;
  for (int round = 0; round < 20; ++round) {
    std::atomic<std::uint64_t> word{0};
    Claims front(word, kGeneration, kBytes);
    front.open();
    std::vector<unsigned char> from_front(kBytes), from_back(kBytes);
    std::thread other([&] {
      Claims back(word, kGeneration, kBytes);
      for (Claims::Part part = back.from_back(); part.bytes != 0; part = back.from_back()) mark(from_back, part);
    });
    for (Claims::Part part = front.from_front(); part.bytes != 0; part = front.from_front()) mark(from_front, part);
    other.join();
    expect_each_once(from_front, from_back, front.front_bytes());
  }
}

TEST(Claims, WhoComesForAnotherCopyGetsNothing) {
  std::atomic<std::uint64_t> word{0};
  Claims first(word, kGeneration, 10 * Claims::kGranule), late(word, kGeneration, 10 * Claims::kGranule);
  first.open();
  Claims second(word, kGeneration + 1, 3 * Claims::kGranule);
  second.open();
  EXPECT_EQ(late.from_back().bytes, 0U);
  std::size_t got = 0;
  for (Claims::Part part = second.from_front(); part.bytes != 0; part = second.from_front()) got += part.bytes;
  EXPECT_EQ(got, 3 * Claims::kGranule);
}

}  // namespace
}  // namespace hr::p2p
