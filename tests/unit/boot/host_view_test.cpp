// Detection of processes that share memory: the token in a directory, and the hosts derived from all views.
#include "boot/host_view.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace hr::boot {
namespace {

class Directory {
 public:
  Directory() {
    char name[] = "/tmp/headrace-view-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::string path_;
};

TEST(HostView, IsEqualWhereTheDirectoryIsTheSame) {
  const Directory here;
  const Directory there;
  std::vector<std::string> seen(16);
  std::vector<std::thread> threads;
  for (std::string& each : seen) {
    threads.emplace_back([&] { each = HostView(here.path(), "job", "x").text(); });
  }
  for (std::thread& each : threads) each.join();
  for (const std::string& each : seen) EXPECT_EQ(each, seen[0]);
  EXPECT_NE(HostView(there.path(), "job", "x").text(), seen[0]);
  EXPECT_NE(HostView(here.path(), "other", "x").text(), seen[0]) << "each job has a token of its own";
}

TEST(HostView, LeavesNothing) {
  const Directory here;
  HostView view(here.path(), "job", "x");
  EXPECT_FALSE(here.empty());
  view.forget();
  EXPECT_TRUE(here.empty());
  view.forget();
}

TEST(HostView, RemovesWhatAKilledJobHasLeft) {
  const Directory here;
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const HostView view(here.path(), "killed", "x");
    static_cast<void>(::write(told[1], "x", 1));
    for (;;) ::pause();
  }
  char letter = 0;
  ASSERT_EQ(::read(told[0], &letter, 1), 1);
  {
    HostView view(here.path(), "job", "x");
    view.forget();
  }
  EXPECT_FALSE(here.empty()) << "its maker lives";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  {
    HostView view(here.path(), "job", "x");
    view.forget();
  }
  EXPECT_TRUE(here.empty());
  ::close(told[0]);
  ::close(told[1]);
}

TEST(HostView, NoDirectoryIsWhatIsSaidInstead) {
  const Directory here;
  EXPECT_TRUE(HostView(here.path() + "/none", "job", "name").text().starts_with("name."));
  // Another user's file with that name is not a token.
  std::ofstream(here.path() + "/headrace.job.host") << "text";
  EXPECT_TRUE(HostView(here.path(), "job", "name").text().starts_with("name."));
  std::filesystem::create_symlink("../x", here.path() + "/headrace.other.host");
  EXPECT_TRUE(HostView(here.path(), "other", "name").text().starts_with("name."));
  EXPECT_TRUE(std::filesystem::is_symlink(here.path() + "/headrace.other.host")) << "nor ours to remove";
}

TEST(HostView, TakesNoLinkOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give links to other users";
  const Directory here;
  const std::string link = here.path() + "/headrace.job.host";
  const std::string token = "0123456789abcdef0123456789abcdef";
  std::filesystem::create_symlink(token + ".1.999999", link);
  ASSERT_EQ(::lchown(link.c_str(), 54321, 54321), 0);
  HostView view(here.path(), "job", "name");
  EXPECT_TRUE(view.text().starts_with("name.")) << view.text();
  EXPECT_EQ(view.refused(), link);
  view.forget();
  HostView(here.path(), "next", "name").forget();
  EXPECT_TRUE(std::filesystem::is_symlink(link)) << "neither used nor removed";
}

TEST(HostView, ComparedByTokens) {
  const Hosts plain = compare_views({"b.1-2", "a.1-2", "b.1-2", "c.1-2", "a.1-2"});
  EXPECT_EQ(plain.of_rank, (std::vector<int>{0, 1, 0, 2, 1}));
  EXPECT_TRUE(plain.mixed.empty());
  const Hosts mixed = compare_views({"b.1-2", "a.1-2", "b.1-2", "c.1-2", "a.3-2", "c.1-4", "c.5-6"});
  EXPECT_EQ(mixed.of_rank, (std::vector<int>{0, 1, 0, 2, 1, 2, 2}));
  EXPECT_EQ(mixed.mixed, (std::vector<int>{1, 2}));
}

TEST(HostView, HostsAsText) {
  for (const Hosts& hosts : {Hosts{{0, 0, 1, 1}, {}}, Hosts{{0, 1, 0, 1, 2}, {1}}, Hosts{{0, 1, 2, 3}, {0, 2, 3}}}) {
    const std::string text = format_hosts(hosts);
    EXPECT_EQ(text.find_first_of(" ;="), std::string::npos) << text;
    Hosts read;
    ASSERT_TRUE(parse_hosts(text, static_cast<int>(hosts.of_rank.size()), &read)) << text;
    EXPECT_EQ(read.of_rank, hosts.of_rank);
    EXPECT_EQ(read.mixed, hosts.mixed);
  }
  Hosts read;
  for (const char* text : {"", "(vector)", "(vector,(0,1,2))/", "(vector,(0,1,2))/x", "(vector,(0,1,2))1"}) {
    EXPECT_FALSE(parse_hosts(text, 2, &read)) << text;
  }
}

}  // namespace
}  // namespace hr::boot
