// The PMI-1 client against a scripted launcher: a thread at the other end of a socket pair.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include "boot/boot.hpp"
#include "boot/numbered_values.hpp"
#include "boot/spawning.hpp"

namespace hr::boot {
namespace {

// Replies to each line with answers[command]: empty means no reply; an unknown command ends the conversation. Reads a
// request to spawn up to its last line, "endcmd", which counts as a command.
class ScriptedLauncher {
 public:
  explicit ScriptedLauncher(std::map<std::string, std::string> answers) : answers_(std::move(answers)) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ::setenv("PMI_FD", std::to_string(ends[0]).c_str(), 1);
    ::setenv("PMI_RANK", "1", 1);
    ::setenv("PMI_SIZE", "3", 1);
    client_ = ends[0];
    thread_ = std::thread([this, server = ends[1]] { serve(server); });
  }
  ~ScriptedLauncher() {
    ::shutdown(client_, SHUT_RDWR);  // no effect if the client has closed it
    thread_.join();
    for (const char* name : {"PMI_FD", "PMI_RANK", "PMI_SIZE"}) ::unsetenv(name);
  }
  ScriptedLauncher(const ScriptedLauncher&) = delete;

 private:
  void serve(int server) {
    std::string pending;
    char chunk[512];
    for (ssize_t count; (count = ::read(server, chunk, sizeof chunk)) > 0;) {
      pending.append(chunk, static_cast<std::size_t>(count));
      for (std::size_t end; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1)) {
        const std::string line = pending.substr(0, end);
        in_spawn_ = (in_spawn_ || line == "mcmd=spawn") && line != "endcmd";
        if (in_spawn_) continue;
        auto answer = answers_.find(line);
        if (answer == answers_.end() && line.size() > 4) answer = answers_.find(line.substr(4, line.find(' ') - 4));
        if (answer == answers_.end()) return static_cast<void>(::close(server));
        if (answer->second.empty()) continue;
        // Sends the line in two pieces, because it may arrive in parts.
        const std::string text = answer->second + "\n";
        EXPECT_GE(::send(server, text.data(), 3, MSG_NOSIGNAL), 0);
        EXPECT_GE(::send(server, text.data() + 3, text.size() - 3, MSG_NOSIGNAL), 0);
      }
    }
    ::close(server);
  }

  std::map<std::string, std::string> answers_;
  int client_ = -1;
  bool in_spawn_ = false;
  std::thread thread_;
};

std::map<std::string, std::string> friendly() {
  return {{"init", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0 views=1"},
          {"get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0"},
          {"get_my_kvsname", "cmd=my_kvsname kvsname=headrace_12_ab rc=0"},
          {"get_appnum", "cmd=appnum appnum=2 rc=0"},
          {"get_universe_size", "cmd=universe_size size=8 rc=0"},
          {"get", "cmd=get_result rc=0 msg=success value=(vector,(0,1,2),(1,1,1))"},
          {"cmd=get kvsname=headrace_12_ab key=headrace-job wait=1", "cmd=get_result rc=0 value=1/"},
          {"put", "cmd=put_result rc=0 msg=success"},
          {"barrier_in", "cmd=barrier_out rc=0"},
          {"finalize", "cmd=finalize_ack rc=0"}};
}

std::vector<int> hosts() {
  std::vector<int> numbers;
  for (int proc = 0; proc < processes().size(); ++proc) numbers.push_back(processes().host_of(proc));
  return numbers;
}

TEST(Pmi1, IdentityComesFromTheLauncher) {
  ScriptedLauncher launcher(friendly());
  ASSERT_TRUE(init().ok()) << take_detail();
  EXPECT_EQ(identity().rank, 1);
  EXPECT_EQ(identity().size, 3);
  EXPECT_EQ(identity().appnum, 2);
  EXPECT_EQ(identity().universe_size, 8);
  EXPECT_EQ(identity().job_id, "headrace_12_ab");
  EXPECT_EQ(hosts(), (std::vector<int>{0, 0, 1}));
  EXPECT_TRUE(processes().on_this_host(0));
  EXPECT_FALSE(processes().job_on_one_host());
  EXPECT_TRUE(identity().has_launcher);
  EXPECT_TRUE(put("key", "value").ok());
  EXPECT_FALSE(put("key", std::string(2000, 'x')).ok()) << "longer than the launcher takes";
  EXPECT_TRUE(fence().ok());
  EXPECT_TRUE(finalize().ok());
}

TEST(Pmi1, AFenceInTwoStepsEndsWithItsAnswer) {
  ScriptedLauncher launcher(friendly());
  ASSERT_TRUE(init().ok()) << take_detail();
  ASSERT_TRUE(begin_fence().ok());
  bool done = false;
  while (!done) ASSERT_TRUE(fence_done(&done).ok()) << take_detail();
  std::string value;
  EXPECT_TRUE(get(0, "anything", &value).ok()) << take_detail();  // the reply has been consumed
  EXPECT_TRUE(finalize().ok());
}

TEST(Pmi1, ValuesOfManyProcessesTakeOneRequest) {
  auto answers = friendly();
  answers["cmd=get_numbered kvsname=headrace_12_ab key=at-*-x first=4 count=4"] =
      "cmd=get_numbered_result rc=0 values=four;;six;";
  answers["init"] += " keeps_files=1";  // Headrace's launcher: the handshake's queries arrive in one piece
  const ScriptedLauncher launcher(answers);
  ASSERT_TRUE(init().ok()) << take_detail();
  EXPECT_EQ(identity().appnum, 2);
  EXPECT_EQ(identity().universe_size, 8);
  std::vector<std::string> values;
  ASSERT_TRUE(get_numbered("at-*-x", 4, 4, &values).ok()) << take_detail();
  EXPECT_EQ(values, (std::vector<std::string>{"four", "", "six", ""}));
  ASSERT_TRUE(finalize().ok());
}

TEST(Pmi1, ALauncherWithoutNumberedValuesKnowsNone) {
  auto answers = friendly();
  answers["get_numbered"] = "cmd=get_numbered_result rc=-1 msg=not_supported";
  const ScriptedLauncher launcher(answers);
  ASSERT_TRUE(init().ok());
  std::vector<std::string> values;
  ASSERT_TRUE(get_numbered("at-*-x", 0, 2, &values).ok()) << take_detail();
  EXPECT_EQ(values, (std::vector<std::string>{"", ""}));
  ASSERT_TRUE(finalize().ok());
}

TEST(Pmi1, WhoSharesTheCoresIsWhoSharesTheNodeUnlessTheLauncherSaysSo) {
  {
    ScriptedLauncher launcher(friendly());
    ASSERT_TRUE(init().ok()) << take_detail();
    EXPECT_EQ(identity().processes_here, 2);
    EXPECT_TRUE(finalize().ok());
  }
  auto answers = friendly();
  answers["init"] += " machine_ranks=3";
  ScriptedLauncher launcher(answers);
  ASSERT_TRUE(init().ok()) << take_detail();
  EXPECT_EQ(identity().processes_here, 3);
  EXPECT_TRUE(finalize().ok());
}

TEST(Pmi1, OfALauncherThatSaysLittleProcessZeroTellsTheRest) {
  auto answers = friendly();
  answers["init"] = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0";
  answers["get_my_kvsname"] = "cmd=my_kvsname kvsname=12.0/x";
  answers["get"] = "cmd=get_result rc=-1 msg=key_not_found value=unknown";
  answers["cmd=get kvsname=12.0/x key=headrace-job"] =
      "cmd=get_result rc=0 value=1/11/job%20hosts24/(vector,(0,1,1),(1,2,1))10/job%20name6/77_123";
  ScriptedLauncher launcher(answers);
  ASSERT_TRUE(init().ok()) << take_detail();
  EXPECT_EQ(identity().job_id, "12_0_x_77_123");
  EXPECT_EQ(hosts(), (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(finalize().ok());
  EXPECT_EQ(identity().size, 1) << "afterwards this is a process alone";
}

// The launcher reports the ends of several jobs in any order, perhaps before it names the new one.
TEST(Pmi1, TheEndOfASpawnedJobIsNotedWheneverItIsReported) {
  const std::string ended = "cmd=spawn_ended job=new failed=1 msg=killed",
                    other = "cmd=spawn_ended job=old failed=0 msg=other";
  const std::string started = "cmd=spawn_result rc=0 job=new";
  for (const auto& said : {std::array{ended, other, started}, {other, ended, started}, {ended, started, other}}) {
    auto answers = friendly();
    answers["endcmd"] = said[0] + "\n" + said[1] + "\n" + said[2];
    ScriptedLauncher launcher(answers);
    ASSERT_TRUE(init().ok()) << take_detail();
    const SpawnedProgram program{"./child", {}, 2, {}};
    ASSERT_TRUE(begin_spawn({&program, 1}, "port").ok()) << take_detail();
    SpawnedJob job;
    for (bool done = false; !done;) ASSERT_TRUE(spawn_done(&done, &job).ok()) << take_detail();
    EXPECT_FALSE(spawned_status(job).ok());
    EXPECT_EQ(take_detail(), "the processes have ended: killed");
    bool known = false;
    EXPECT_EQ(spawned_failures(job, &known), std::vector<int>{1});
    EXPECT_TRUE(known);
    end_spawn(job);
    ASSERT_TRUE(finalize().ok());
  }
}

// Other threads make requests while a spawn waits for its answer, which may arrive before theirs.
TEST(Pmi1, TheAnswerToASpawnMayArriveWithinAnotherRequest) {
  auto answers = friendly();
  answers["endcmd"] = "";
  answers["lookup_name"] =
      "cmd=spawn_ended job=old failed=0\ncmd=spawn_result rc=0 job=new\ncmd=lookup_result rc=0 port=here";
  answers["barrier_in"] = "cmd=spawn_ended job=new failed=1\ncmd=barrier_out rc=0";
  ScriptedLauncher launcher(answers);
  ASSERT_TRUE(init().ok()) << take_detail();
  const SpawnedProgram program{"./child", {}, 2, {}};
  SpawnedJob job, other;
  bool done = true;
  ASSERT_TRUE(begin_spawn({&program, 1}, "port").ok()) << take_detail();
  ASSERT_TRUE(spawn_done(&done, &job).ok() && !done && spawn_pending());
  std::string port;
  ASSERT_TRUE(look_up("service", &port).ok()) << take_detail();
  EXPECT_EQ(port, "here");
  ASSERT_TRUE(spawn_done(&done, &job).ok() && done && !spawn_pending()) << take_detail();
  EXPECT_TRUE(spawned_status(job).ok()) << "the job that has ended is another one";
  // The next spawn begins while the first one still waits for its processes; the fence's answer is not the spawn's.
  ASSERT_TRUE(begin_spawn({&program, 1}, "port").ok() && begin_fence().ok()) << take_detail();
  while (spawned_status(job).ok()) ASSERT_TRUE(spawn_done(&done, &other).ok() && !done) << take_detail();
  static_cast<void>(take_detail());
  for (done = false; !done;) ASSERT_TRUE(fence_done(&done).ok()) << take_detail();
  EXPECT_TRUE(spawn_pending());
  end_spawn(job);
  end_spawn(other);
  ASSERT_TRUE(finalize().ok());
}

TEST(Pmi1, ARefusalQuotesTheLauncher) {
  auto answers = friendly();
  answers["init"] = "cmd=response_to_init rc=-1";
  ScriptedLauncher launcher(answers);
  EXPECT_EQ(init().errc(), Errc::kOther);
  EXPECT_NE(take_detail().find("response_to_init rc=-1"), std::string::npos);
}

TEST(Pmi1, ALauncherThatHangsUpIsAnError) {
  auto answers = friendly();
  answers.erase("get_maxes");
  ScriptedLauncher launcher(answers);
  EXPECT_EQ(init().errc(), Errc::kOther);
  EXPECT_NE(take_detail().find("PMI-1"), std::string::npos);
}

TEST(Pmi1, ADescriptorThatIsNoSocketIsNoLauncher) {
  ::setenv("PMI_RANK", "1", 1);
  ::setenv("PMI_SIZE", "3", 1);
  ::setenv("PMI_FD", "987", 1);
  ASSERT_TRUE(init().ok()) << take_detail();
  EXPECT_FALSE(identity().has_launcher);
  for (const char* name : {"PMI_FD", "PMI_RANK", "PMI_SIZE"}) ::unsetenv(name);
}

}  // namespace
}  // namespace hr::boot
