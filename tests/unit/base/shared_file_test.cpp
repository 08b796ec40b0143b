// The shared-memory file: all processes that have it open share the same memory, initially zero, and no file remains
// after a failure.
#include "base/shared_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <string>
#include <utility>

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

// A directory without enough space, and one in which this process cannot create files.
TEST(SharedFile, IsInNoDirectoryIfThereIsNoRoom) {
  struct statvfs space{};
  ASSERT_EQ(::statvfs("/dev/shm", &space), 0);
  // More than the whole directory, in which other jobs may make room at any time.
  const std::size_t much = (space.f_blocks + 16) * space.f_frsize;
  for (const auto& [path, bytes] :
       {std::pair(path_for("no_room"), much), std::pair(std::string("/nonexistent/x"), std::size_t{8192})}) {
    SharedFile first("");
    ASSERT_TRUE(first.create_hidden(path, bytes, 8192, SharedFile::Room::kAnywhere).ok()) << take_detail();
    EXPECT_TRUE(first.hidden());
    EXPECT_TRUE(first.in_no_directory()) << path;
    SharedFile second("");
    ASSERT_TRUE(second.attach(first.name(), bytes).ok()) << take_detail();
    EXPECT_EQ(second.data()[8191], std::byte{0});
    first.data()[8191] = std::byte{7};
    EXPECT_EQ(second.data()[8191], std::byte{7});
    const std::string name = first.name();
    ASSERT_TRUE(first.give_name().ok());
    EXPECT_FALSE(exists(path));
    SharedFile third("");
    ASSERT_TRUE(third.attach(name, bytes).ok()) << "the creator lives";
    EXPECT_EQ(third.data()[8191], std::byte{7});
  }
  SharedFile in_directory("");
  ASSERT_TRUE(in_directory.create_hidden(path_for("room"), 8192, 8192, SharedFile::Room::kAnywhere).ok());
  EXPECT_FALSE(in_directory.in_no_directory());
}

TEST(SharedFile, NeedsRoomInTheDirectoryUnlessToldOtherwise) {
  SharedFile file("");
  EXPECT_FALSE(file.create_hidden("/nonexistent/x", 8192, 8192).ok());
  EXPECT_NE(take_detail().find("/nonexistent/x"), std::string::npos);
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

// The file of two groups that connect: the first process creates it, the others map it.
TEST(SharedFile, IsMadeByTheFirstWhoComes) {
  const std::string path = path_for("connect");
  SharedFile first("");
  const auto begin = [](std::byte* memory) { memory[0] = std::byte{5}; };
  ASSERT_TRUE(first.create_or_attach(path, 8192, 4096, begin).ok());
  SharedFile second("");
  ASSERT_TRUE(second.create_or_attach(path, 4096, 4096, [](std::byte* memory) { memory[0] = std::byte{9}; }).ok());
  EXPECT_EQ(second.data()[0], std::byte{5});
  EXPECT_EQ(second.bytes(), 8192u);
  first.unlink();
  EXPECT_FALSE(exists(path));
}

// Names that another user could have created, as far as a test with one user can check that.
TEST(SharedFile, TakesNoFileThatOthersCouldHaveMade) {
  const std::string path = path_for("foreign");
  const std::string target = path_for("target");
  const auto refused = [&](const char* why) {
    SharedFile second("");
    SharedFile attached("");
    EXPECT_FALSE(second.create_or_attach(path, 4096, 4096, [](std::byte*) {}).ok()) << why;
    EXPECT_NE(take_detail().find(path), std::string::npos) << why;
    EXPECT_FALSE(attached.attach(path, 4096).ok()) << why;
    EXPECT_EQ(second.data(), nullptr) << why;
    EXPECT_EQ(attached.data(), nullptr) << why;
    EXPECT_TRUE(exists(path)) << why << ": it is not ours to remove";
    ::unlink(path.c_str());
  };
  const auto make = [](const std::string& name, mode_t mode, off_t bytes) {
    const int file = ::open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
    EXPECT_EQ(::fchmod(file, mode), 0);
    EXPECT_EQ(::ftruncate(file, bytes), 0);
    ::close(file);
  };
  make(path, 0666, 8192);
  refused("others may open it");
  make(path, 0600, 100);
  refused("too short");
  make(target, 0600, 8192);
  ASSERT_EQ(::symlink(target.c_str(), path.c_str()), 0);
  refused("a symbolic link");
  ASSERT_EQ(::link(target.c_str(), path.c_str()), 0);
  refused("two names");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  refused("a FIFO");
  ::unlink(target.c_str());
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to other users";
  make(path, 0600, 8192);
  ASSERT_EQ(::chown(path.c_str(), 54321, 54321), 0);
  refused("another user's");
}

TEST(SharedFile, AMissingFileIsNamed) {
  SharedFile file("");
  EXPECT_FALSE(file.attach(path_for("missing"), 4096).ok());
  EXPECT_NE(take_detail().find("could not open"), std::string::npos);
}

}  // namespace
}  // namespace hr
