// The shared-memory file: one memory for all who have it open, zero at first, no trace after a failure.
#include "base/shared_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace hr {
namespace {

std::string path_for(const char* name) { return "/dev/shm/headrace.unit." + std::to_string(::getpid()) + "." + name; }
bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

TEST(SharedFile, IsOneMemoryAlsoAfterItsNameIsGone) {
  const std::string path = path_for("shared");
  SharedFile first("");
  ASSERT_TRUE(first.create(path, 8192, 8192).ok());
  SharedFile second("");
  ASSERT_TRUE(second.attach(path, 8192).ok());
  first.unlink();
  EXPECT_FALSE(exists(path));
  EXPECT_EQ(second.data()[8191], std::byte{0});
  first.data()[8191] = std::byte{7};
  EXPECT_EQ(second.data()[8191], std::byte{7});
}

TEST(SharedFile, IsOneMemoryWithoutAName) {
  const std::string path = path_for("hidden");
  SharedFile first("");
  ASSERT_TRUE(first.create_hidden(path, 8192, 8192).ok());
  ASSERT_TRUE(first.hidden());
  EXPECT_FALSE(exists(path));
  SharedFile second("");
  ASSERT_TRUE(second.attach(first.name(), 8192).ok());
  first.data()[8191] = std::byte{7};
  EXPECT_EQ(second.data()[8191], std::byte{7});
  ASSERT_TRUE(first.give_name().ok());
  EXPECT_EQ(first.name(), path);
  SharedFile third("");
  ASSERT_TRUE(third.attach(path, 8192).ok());
  EXPECT_EQ(third.data()[8191], std::byte{7});
  first.unlink();
  EXPECT_FALSE(exists(path));
}

TEST(SharedFile, CannotBeMadeTwice) {
  const std::string path = path_for("twice");
  SharedFile first("");
  ASSERT_TRUE(first.create(path, 4096, 4096).ok());
  SharedFile second("");
  EXPECT_FALSE(second.create(path, 4096, 4096).ok());
  EXPECT_TRUE(exists(path)) << "the first one's file stays";
  first.unlink();
}

TEST(SharedFile, TooMuchMemoryIsAnErrorThatLeavesNothing) {
  const std::string path = path_for("large");
  SharedFile file("do something else");
  const std::size_t much = std::size_t{1} << 46;
  EXPECT_EQ(file.create(path, much, much).errc(), Errc::kOther);
  const std::string detail = take_detail();
  EXPECT_NE(detail.find(path), std::string::npos) << detail;
  EXPECT_NE(detail.find("do something else"), std::string::npos) << detail;
  EXPECT_EQ(file.data(), nullptr);
  EXPECT_FALSE(exists(path));
}

TEST(SharedFile, AMissingFileIsNamed) {
  SharedFile file("");
  EXPECT_FALSE(file.attach(path_for("missing"), 4096).ok());
  EXPECT_NE(take_detail().find("could not open"), std::string::npos);
}

}  // namespace
}  // namespace hr
