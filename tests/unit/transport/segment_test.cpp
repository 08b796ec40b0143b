// The shared-memory file: gone from the directory once all are attached, sparse, and clear about what failed.
#include "transport/shm/segment.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace hr::transport::shm {
namespace {

std::string path_for(const char* name) { return "/dev/shm/headrace.unit." + std::to_string(::getpid()) + "." + name; }

bool exists(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

TEST(Segment, IsUnlinkedWhenTheLastAttaches) {
  const std::string path = path_for("unlink");
  Segment first;
  ASSERT_TRUE(first.create(path, 3, 16384).ok());
  Segment second;
  ASSERT_TRUE(second.attach(path, 3, 16384).ok());
  EXPECT_TRUE(exists(path));
  Segment third;
  ASSERT_TRUE(third.attach(path, 3, 16384).ok());
  EXPECT_FALSE(exists(path));
  // Still the same memory.
  first.doorbell(1)->connections.store(42);
  EXPECT_EQ(third.doorbell(1)->connections.load(), 42U);
}

TEST(Segment, RingsOfAPairAreDistinctAndZero) {
  const std::string path = path_for("rings");
  Segment segment;
  ASSERT_TRUE(segment.create(path, 1, 16384).ok());
  ASSERT_TRUE(segment.reserve(0, 0).ok());
  EXPECT_EQ(segment.ring(0, 0)->cells[0].sequence.load(), 0U);
  EXPECT_FALSE(exists(path));
}

TEST(Segment, IdlePairsCostNothing) {
  const std::string path = path_for("sparse");
  Segment segment;
  ASSERT_TRUE(segment.create(path, 64, 262144).ok());
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_GT(info.st_size, 1LL << 30) << "64 x 64 rings of 256 KiB";
  EXPECT_LT(info.st_blocks * 512LL, 1LL << 20) << "no ring has memory before it is used";
  ::unlink(path.c_str());
}

TEST(Segment, AMissingDirectoryIsNamed) {
  Segment segment;
  const Status status = segment.create("/nonexistent/headrace.x", 2, 16384);
  EXPECT_EQ(status.errc(), Errc::kOther);
  const std::string detail = take_detail();
  EXPECT_NE(detail.find("/nonexistent/headrace.x"), std::string::npos) << detail;
  EXPECT_NE(detail.find("HEADRACE_SHM_DIR"), std::string::npos) << detail;
}

}  // namespace
}  // namespace hr::transport::shm
