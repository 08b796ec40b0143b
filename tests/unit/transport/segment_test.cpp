// The shared-memory file: removed from the directory once all processes are attached, sparse, with a clear error on
// failure.
#include "transport/shm/segment.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace hr::transport::shm {
namespace {

std::string path_for(const char* name) { return "/dev/shm/headrace.unit." + std::to_string(::getpid()) + "." + name; }

bool exists(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

TEST(Segment, HasNoNameWhoeverDies) {
  const std::string path = path_for("hidden");
  Segment first;
  ASSERT_TRUE(first.create(path, {3, 16384, 0}).ok());
  EXPECT_FALSE(exists(path));
  Segment second;
  ASSERT_TRUE(second.attach(first.name(), {3, 16384, 0}).ok());
  Segment third;
  ASSERT_TRUE(third.attach(first.name(), {3, 16384, 0}).ok());
  EXPECT_FALSE(exists(path));
  // Both processes share the same memory.
  first.doorbell(1)->connections.store(42);
  EXPECT_EQ(third.doorbell(1)->connections.load(), 42U);
}

TEST(Segment, WhoComesLateFindsItUnderItsName) {
  const std::string path = path_for("late");
  Segment second;
  {
    Segment first;
    ASSERT_TRUE(first.create(path, {2, 16384, 0}).ok());
    first.doorbell(1)->connections.store(42);
    first.settle();
    EXPECT_TRUE(exists(path));
  }
  ASSERT_TRUE(second.attach(path, {2, 16384, 0}).ok());
  EXPECT_FALSE(exists(path));
  EXPECT_EQ(second.doorbell(1)->connections.load(), 42U);
}

TEST(Segment, IsLeftAtOnceWhereAllHaveIt) {
  const std::string path = path_for("settled");
  Segment first;
  ASSERT_TRUE(first.create(path, {2, 16384, 0}).ok());
  Segment second;
  ASSERT_TRUE(second.attach(first.name(), {2, 16384, 0}).ok());
  first.settle();
  EXPECT_FALSE(exists(path));
}

TEST(Segment, RingsOfAPairAreDistinctAndZero) {
  const std::string path = path_for("rings");
  Segment segment;
  ASSERT_TRUE(segment.create(path, {1, 16384, 0}).ok());
  ASSERT_TRUE(segment.reserve_cells(0, 0, kCells).ok());
  ASSERT_TRUE(segment.reserve_payload(0, 0, segment.payload_bytes()).ok());
  EXPECT_EQ(segment.ring(0, 0)->cells[0].sequence.load(), 0U);
  EXPECT_FALSE(exists(path));
}

TEST(Segment, StagingAreasAreSharedAndApart) {
  const std::string path = path_for("staging");
  constexpr std::size_t kBytes = 3 * 4096 + 100;
  Segment mine;
  ASSERT_TRUE(mine.create(path, {2, 16384, kBytes}).ok());
  Segment other;
  ASSERT_TRUE(other.attach(mine.name(), {2, 16384, kBytes}).ok());
  for (int process = 0; process < 2; ++process) {
    ASSERT_TRUE(mine.reserve_staging(process).ok());
    ASSERT_EQ(mine.staging(process).size(), kBytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mine.staging(process).data()) % 4096, 0U);
    for (std::byte& each : mine.staging(process)) each = static_cast<std::byte>(process + 1);
  }
  for (int process = 0; process < 2; ++process) {
    EXPECT_EQ(other.staging(process).front(), static_cast<std::byte>(process + 1));
    EXPECT_EQ(other.staging(process).back(), static_cast<std::byte>(process + 1));
  }
  ASSERT_TRUE(mine.reserve_cells(1, 1, kCells).ok());
  EXPECT_EQ(mine.ring(1, 1)->cells[0].sequence.load(), 0U);
}

TEST(Segment, IdlePairsCostNothing) {
  const std::string path = path_for("sparse");
  Segment segment;
  ASSERT_TRUE(segment.create(path, {64, 262144, 1 << 20}).ok());
  struct stat info{};
  ASSERT_EQ(::stat(segment.name().c_str(), &info), 0);
  EXPECT_GT(info.st_size, 1LL << 30) << "64 x 64 rings of 256 KiB";
  EXPECT_LT(info.st_blocks * 512LL, 1LL << 20) << "no ring has memory before it is used";
}

TEST(Segment, PartsOfARingCostTheirPages) {
  const std::string path = path_for("parts");
  Segment segment;
  ASSERT_TRUE(segment.create(path, {64, 262144, 0}).ok());
  const auto pages = [&] {
    struct stat info{};
    EXPECT_EQ(::stat(segment.name().c_str(), &info), 0);
    return info.st_blocks * 512 / 4096;
  };
  const auto before = pages();
  ASSERT_TRUE(segment.reserve_cells(3, 5, 31).ok());
  EXPECT_EQ(pages(), before + 1);
  ASSERT_TRUE(segment.reserve_cells(3, 5, 127).ok());
  EXPECT_EQ(pages(), before + 4);
  ASSERT_TRUE(segment.reserve_payload(3, 5, 4096 - sizeof(RingMemory) % 4096).ok());
  EXPECT_EQ(pages(), before + 5) << "the last page of the cells has space for payload";
  ASSERT_TRUE(segment.reserve_cells(3, 5, kCells).ok());
  EXPECT_EQ(pages(), before + 9);
}

TEST(Segment, NeedsNoDirectory) {
  Segment first;
  ASSERT_TRUE(first.create("/nonexistent/headrace.x", {2, 16384, 0}).ok()) << take_detail();
  Segment second;
  ASSERT_TRUE(second.attach(first.name(), {2, 16384, 0}).ok()) << take_detail();
  first.doorbell(1)->connections.store(42);
  EXPECT_EQ(second.doorbell(1)->connections.load(), 42U);
  first.settle();
}

}  // namespace
}  // namespace hr::transport::shm
