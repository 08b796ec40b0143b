#include "base/nontemporal_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/reader_distance.hpp"

namespace hr {
namespace {

// Copies any length between any addresses, and changes no other byte.
TEST(NontemporalCopy, CopiesWhatIsAskedForAlone) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  constexpr std::size_t kRoom = 8192;
  constexpr std::byte kPoison{0xa5};
  std::vector<std::byte> from(kRoom);
  for (std::byte& byte : from) byte = static_cast<std::byte>(random());
  for (int round = 0; round < 2000; ++round) {
    const std::size_t bytes = random() % (round % 2 == 0 ? 200 : kRoom / 2);
    const std::size_t to_at = random() % (kRoom - bytes);
    const std::size_t from_at = random() % (kRoom - bytes);
    std::vector<std::byte> expected(kRoom, kPoison);
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(from_at), bytes,
                expected.begin() + static_cast<std::ptrdiff_t>(to_at));
    std::vector<std::byte> to(kRoom, kPoison);
    copy_nontemporal(to.data() + to_at, from.data() + from_at, bytes);
    ASSERT_EQ(to, expected) << bytes << " bytes from " << from_at << " to " << to_at;
  }
}

constexpr std::uint64_t kMemory = 300;
constexpr std::uint64_t kNear = kMemory / 2;
constexpr std::uint64_t kFar = kNear + 1;

TEST(ReaderDistance, IsNearUntilFoundOtherwise) {
  ReaderDistance reader;
  EXPECT_FALSE(reader.is_far());
  EXPECT_TRUE(reader.is_due());
  reader.learn(kFar, kMemory);
  EXPECT_TRUE(reader.is_far());
}

TEST(ReaderDistance, TakesTwoLoadsToChange) {
  ReaderDistance reader;
  for (int i = 0; i < 4; ++i) reader.learn(kFar, kMemory);
  reader.learn(kNear, kMemory);
  EXPECT_TRUE(reader.is_far());
  EXPECT_TRUE(reader.is_due());  // due for a check
  reader.learn(kNear, kMemory);
  EXPECT_FALSE(reader.is_far());
  for (int i = 0; i < 4; ++i) reader.learn(kNear, kMemory);
  reader.learn(kFar, kMemory);
  EXPECT_FALSE(reader.is_far());
}

TEST(ReaderDistance, LooksNowAndThenOnceThereIsNoDoubt) {
  ReaderDistance reader;
  reader.learn(kNear, kMemory);
  EXPECT_FALSE(reader.is_due());
  int writes = 0;
  for (; !reader.is_due() && writes < 1000; ++writes) reader.count();
  EXPECT_GE(writes, 16);
  EXPECT_LE(writes, 64);
}

TEST(ReaderDistance, LoadsWhatIsThereWhetherItIsTimedOrNot) {
  ReaderDistance reader;
  std::atomic<std::uint64_t> word{0};
  std::uint64_t seen = 0;
  for (std::uint64_t value = 0; value < 1000; ++value) {
    word.store(value);
    reader.count();
    ASSERT_EQ(seen = reader.load(word, seen), value);
  }
}

}  // namespace
}  // namespace hr
