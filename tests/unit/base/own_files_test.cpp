// Files read from world-writable directories: their owners are checked, and no read blocks.
#include "base/own_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hr {
namespace {

class OwnFiles : public testing::Test {
 protected:
  OwnFiles() {
    char name[] = "/tmp/headrace-files-XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  ~OwnFiles() override { std::filesystem::remove_all(directory_); }
  [[nodiscard]] std::string path(const char* name) const { return directory_ + "/" + name; }

  // Returns the reason why the file is refused, or an empty string if it is read.
  static std::string refusal(const std::string& path, std::size_t most = 100) {
    std::string text;
    return read_file(path, most, &text).ok() ? "" : take_detail();
  }
  // Returns the reason why the file is not accepted as this user's.
  static std::string refusal_of(const std::string& path, std::size_t least) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    const Status status = check_own_file(descriptor, path, least);
    ::close(descriptor);
    return status.ok() ? "" : take_detail();
  }
  std::string make(const char* name, mode_t mode) const {
    std::ofstream(path(name)) << "text";
    ::chmod(path(name).c_str(), mode);
    return path(name);
  }

  std::string directory_;
};

TEST_F(OwnFiles, AreReadWhole) {
  std::string text = "what was there";
  EXPECT_TRUE(read_file(make("file", 0644), 4, &text).ok());
  EXPECT_EQ(text, "text");
  EXPECT_TRUE(read_file("/dev/null", 4, &text).ok());
  EXPECT_EQ(text, "");
  std::filesystem::create_symlink("file", path("link"));
  EXPECT_EQ(refusal(path("link")), "") << "a user may link a file of settings";
}

TEST_F(OwnFiles, NothingElseIsReadOrWaitedFor) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(refusal(path("fifo")), "is a FIFO, not a file");
  EXPECT_EQ(refusal(directory_), "is a directory, not a file");
  EXPECT_EQ(refusal("/dev/zero"), "is a device, not a file");
  EXPECT_EQ(refusal(make("file", 0644), 3), "is larger than 0 KiB");
  std::string text;
  EXPECT_EQ(read_file(path("none"), 4, &text).errc(), Errc::kNoSuchFile);
  EXPECT_EQ(take_detail(), "cannot be opened: No such file or directory");
  EXPECT_EQ(read_file(path("file") + "/below", 4, &text).errc(), Errc::kNoSuchFile);
  EXPECT_EQ(read_file(path("fifo"), 4, &text, Pipes::kGiven).errc(), Errc::kFile) << "it was not given as a descriptor";
}

TEST_F(OwnFiles, APipeOfTheCommandLineIsReadToItsEnd) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "piped", 5), 5);
  ::close(ends[1]);
  const std::string name = "/dev/fd/" + std::to_string(ends[0]);
  std::string text;
  EXPECT_FALSE(read_file(name, 100, &text).ok());
  EXPECT_TRUE(read_file(name, 100, &text, Pipes::kGiven).ok());
  EXPECT_EQ(text, "piped");
  ::close(ends[0]);
}

TEST_F(OwnFiles, AreOursAndNobodyElses) {
  EXPECT_EQ(refusal_of(make("own", 0600), 4), "");
  EXPECT_NE(refusal_of(path("own"), 5).find("has 4 bytes where 5 are wanted"), std::string::npos);
  EXPECT_NE(refusal_of(make("open", 0620), 4).find("open to other users (mode 620)"), std::string::npos);
  std::filesystem::create_hard_link(path("own"), path("second"));
  EXPECT_NE(refusal_of(path("own"), 4).find("has 2 names"), std::string::npos);
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_NE(refusal_of(path("fifo"), 0).find("is a FIFO"), std::string::npos);
  EXPECT_EQ(owner_of(path("own")), Owner::kThisUser);
  EXPECT_EQ(owner_of(path("none")), Owner::kNobody);
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to other users";
  make("other", 0600);
  ASSERT_EQ(::chown(path("other").c_str(), 54321, 54321), 0);
  EXPECT_NE(refusal_of(path("other"), 4).find("belongs to user 54321"), std::string::npos);
  EXPECT_EQ(owner_of(path("other")), Owner::kAnotherUser);
}

}  // namespace
}  // namespace hr
