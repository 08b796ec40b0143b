// PmiServer with the ranks of two hosts; the test passes messages between their servers.
#include "host/pmi_server.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace hr::launcher {
namespace {

struct Host {
  Host(const RankMap& map, int number, int failure_board = -1) {
    PmiServer::Callbacks callbacks;
    callbacks.send = [this](int rank, std::string_view line) { answers[rank].emplace_back(line); };
    callbacks.abort = [](int, int) {};
    callbacks.crashed = [](int, int) {};
    callbacks.fence = [this](std::vector<KeyValue> values) { fences.push_back(std::move(values)); };
    callbacks.ask = [this](const std::string& key) { asked.push_back(key); };
    callbacks.spawn = [this](int, const SpawnRequest& request) { spawned.push_back(request); };
    callbacks.answer = [this](std::vector<KeyValue> values) { answered.push_back(std::move(values)); };
    server = std::make_unique<PmiServer>("space", std::vector<int>(static_cast<std::size_t>(map.ranks()), 0), map,
                                         map.ranks_of(number), 0, failure_board, false, std::move(callbacks));
  }
  std::string ask(int rank, const std::string& line) {
    const std::size_t before = answers[rank].size();
    server->handle_line(rank, line);
    return answers[rank].size() > before ? answers[rank].back() : "";
  }

  std::map<int, std::vector<std::string>> answers;
  std::vector<std::vector<KeyValue>> fences;
  std::vector<std::string> asked;
  std::vector<SpawnRequest> spawned;
  std::vector<std::vector<KeyValue>> answered;
  std::unique_ptr<PmiServer> server;
};

class TwoHosts : public testing::Test {
 protected:
  const RankMap map_{{0, 0, 1, 1}};
  Host first_{map_, 0};
  Host second_{map_, 1};
};

TEST_F(TwoHosts, FenceWaitsForTheRanksHereAndHandsOutWhatTheyPut) {
  EXPECT_EQ(first_.ask(0, "cmd=put kvsname=space key=a value=1"), "cmd=put_result rc=0 msg=success");
  EXPECT_EQ(first_.ask(0, "cmd=barrier_in"), "");
  EXPECT_TRUE(first_.fences.empty());
  EXPECT_EQ(first_.ask(1, "cmd=put kvsname=space key=b value=2"), "cmd=put_result rc=0 msg=success");
  EXPECT_EQ(first_.ask(1, "cmd=barrier_in"), "");
  ASSERT_EQ(first_.fences.size(), 1u);
  EXPECT_EQ(first_.fences[0], (std::vector<KeyValue>{{"a", "1"}, {"b", "2"}}));
  EXPECT_TRUE(first_.server->anyone_waits());
  first_.server->publish({{"c", "3"}});
  first_.server->leave_fence();
  EXPECT_EQ(first_.answers[0].back(), "cmd=barrier_out rc=0");
  EXPECT_FALSE(first_.server->anyone_waits());
  EXPECT_EQ(first_.ask(1, "cmd=get kvsname=space key=c"), "cmd=get_result rc=0 msg=success value=3");
  // The next barrier distributes the new keys.
  first_.ask(0, "cmd=barrier_in");
  first_.ask(1, "cmd=barrier_in");
  EXPECT_TRUE(first_.fences[1].empty());
}

TEST_F(TwoHosts, NumberedValuesAreHandedOutAtOnce) {
  first_.ask(0, "cmd=put kvsname=space key=at-0-x value=zero");
  first_.ask(1, "cmd=put kvsname=space key=at-1-x value=one");
  const std::string request = "cmd=get_numbered kvsname=space key=at-*-x first=0 count=4";
  EXPECT_EQ(first_.ask(0, request), "cmd=get_numbered_result rc=0 values=zero;one;;");
  first_.server->publish({{"at-2-x", "two"}, {"at-3-x", "th;ree"}, {"at-10-x", "ten"}});
  EXPECT_EQ(first_.ask(1, request), "cmd=get_numbered_result rc=0 values=zero;one;two;");
  EXPECT_EQ(first_.ask(1, "cmd=get_numbered kvsname=space key=at-*-x first=10 count=1"),
            "cmd=get_numbered_result rc=0 values=ten");
  for (const char* const bad :
       {"key=at first=0 count=1", "key=at-* first=-1 count=1", "key=at-* first=0 count=0", "key=at-* first=0"}) {
    EXPECT_EQ(first_.ask(0, std::string("cmd=get_numbered kvsname=space ") + bad),
              "cmd=get_numbered_result rc=-1 msg=bad_request");
  }
  // Values that do not fit into a reply are requested one at a time.
  const std::string is_long(60000, 'l');
  first_.server->publish({{"at-4-x", is_long}, {"at-5-x", is_long}, {"at-6-x", "six"}});
  EXPECT_EQ(first_.ask(0, "cmd=get_numbered kvsname=space key=at-*-x first=4 count=3"),
            "cmd=get_numbered_result rc=0 values=" + is_long + ";;six");
}

TEST_F(TwoHosts, AQuestionGoesOutOnceAndIsAnsweredWithAllOfTheRank) {
  EXPECT_EQ(second_.ask(2, "cmd=get kvsname=space key=job wait=1"), "");
  EXPECT_EQ(second_.ask(3, "cmd=get kvsname=space key=job wait=1"), "");
  EXPECT_EQ(second_.asked, std::vector<std::string>{"job"});
  first_.server->want("job");
  first_.ask(1, "cmd=put kvsname=space key=other value=x");
  first_.ask(0, "cmd=put kvsname=space key=job-1 value=more");
  EXPECT_TRUE(first_.answered.empty());
  first_.ask(0, "cmd=put kvsname=space key=job value=begin");
  ASSERT_EQ(first_.answered.size(), 1u);
  EXPECT_EQ(first_.answered[0], (std::vector<KeyValue>{{"job-1", "more"}, {"job", "begin"}}));
  second_.server->publish(first_.answered[0]);
  EXPECT_EQ(second_.answers[2].back(), "cmd=get_result rc=0 msg=success value=begin");
  EXPECT_EQ(second_.answers[3].back(), "cmd=get_result rc=0 msg=success value=begin");
  EXPECT_EQ(second_.ask(2, "cmd=get kvsname=space key=job-1"), "cmd=get_result rc=0 msg=success value=more");
}

TEST_F(TwoHosts, WhatIsThereAlreadyIsAnsweredAtOnce) {
  first_.ask(0, "cmd=put kvsname=space key=job value=begin");
  first_.server->want("job");
  ASSERT_EQ(first_.answered.size(), 1u);
  EXPECT_EQ(first_.ask(1, "cmd=get kvsname=space key=job wait=1"), "cmd=get_result rc=0 msg=success value=begin");
  EXPECT_TRUE(first_.asked.empty());
}

TEST_F(TwoHosts, KnowsTheMapAndTheSizeOfTheJob) {
  EXPECT_EQ(second_.ask(2, "cmd=get kvsname=space key=PMI_process_mapping"),
            "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))");
  EXPECT_EQ(second_.ask(2, "cmd=get_universe_size"), "cmd=universe_size rc=0 size=4");
  EXPECT_EQ(second_.ask(2, "cmd=get kvsname=space key=none"), "cmd=get_result rc=-1 msg=key_not_found value=unknown");
}

TEST(JobThatGoesOn, NobodyWaitsForWhoHasDied) {
  const RankMap map{{0, 0, 1, 1}};
  Host first(map, 0, 0), second(map, 1, 1);
  first.ask(0, "cmd=barrier_in");
  EXPECT_TRUE(first.fences.empty());
  first.server->mark_failed(1);
  second.server->mark_failed(1);
  ASSERT_EQ(first.fences.size(), 1u);
  first.server->mark_failed(2);  // a rank on another host changes nothing
  EXPECT_EQ(first.fences.size(), 1u);
  // A host without remaining ranks is always ready.
  second.server->mark_failed(2);
  EXPECT_TRUE(second.fences.empty());
  second.server->mark_failed(3);
  ASSERT_EQ(second.fences.size(), 1u);
  first.server->leave_fence();
  EXPECT_EQ(first.answers[0].back(), "cmd=barrier_out rc=0");
  second.server->leave_fence();
  EXPECT_EQ(second.fences.size(), 2u);
}

TEST(JobThatGoesOn, WhatADeadRankWouldHavePutIsNotWaitedFor) {
  const RankMap map{{0, 0}};
  Host host(map, 0, 0);
  host.ask(1, "cmd=get kvsname=space key=job wait=1");
  EXPECT_TRUE(host.answers[1].empty());
  host.server->mark_failed(0);
  EXPECT_EQ(host.answers[1].back(), "cmd=get_result rc=-1 msg=key_not_found value=unknown");
}

// Sends a block of a request with the lines `more`.
void say_program(Host& host, int number, int of, const std::vector<std::string>& more) {
  const auto say = [&host](const std::string& line) { host.server->handle_line(0, line); };
  for (const std::string& line : {std::string("mcmd=spawn"), std::string("nprocs=1"), std::string("execname=prog")})
    say(line);
  for (const std::string& line : more) say(line);
  say("totspawns=" + std::to_string(of));
  say("spawnssofar=" + std::to_string(number));
  say("endcmd");
}

TEST_F(TwoHosts, ARequestForSpawningThatIsTooLongIsRefusedOnceAndNotKept) {
  const std::vector<std::string> long_lines(5, "arg1=" + std::string(std::size_t{1} << 20, 'x'));
  // First, each of the three programs in turn is too long; then, only their total is.
  for (const int which : {1, 2, 3}) {
    first_.answers.clear();
    for (int number = 1; number <= 3; ++number) {
      say_program(first_, number, 3, number == which ? long_lines : std::vector<std::string>{"argcnt=0"});
    }
    ASSERT_EQ(first_.answers[0].size(), 1u);
    EXPECT_NE(first_.answers[0][0].find("cmd=spawn_result rc=-1 msg="), std::string::npos);
    EXPECT_NE(first_.answers[0][0].find("4%20MB"), std::string::npos) << first_.answers[0][0];
    EXPECT_TRUE(first_.spawned.empty());
  }
  first_.answers.clear();
  for (int number = 1; number <= 100; ++number) say_program(first_, number, 100, {long_lines[0], "argcnt=1"});
  EXPECT_EQ(first_.answers[0].size(), 1u);
  EXPECT_TRUE(first_.spawned.empty());
  // The next request works like the first.
  say_program(first_, 1, 1, {long_lines[0], "argcnt=1"});
  ASSERT_EQ(first_.spawned.size(), 1u);
  EXPECT_EQ(first_.spawned[0].programs.at(0).arguments.at(1).size(), std::size_t{1} << 20);
}

TEST_F(TwoHosts, ARequestForSpawningThatCountsMoreThanItHasIsRefused) {
  for (const char* count : {"argcnt", "info_num", "preput_num"}) {
    for (const char* number : {"50", "65536", "2147483647", "-1", "x"}) {
      first_.answers.clear();
      say_program(first_, 1, 1, {std::string(count) + "=" + number});
      ASSERT_EQ(first_.answers[0].size(), 1u) << count << " " << number;
      EXPECT_NE(first_.answers[0][0].find("not%20understood"), std::string::npos);
    }
  }
  EXPECT_TRUE(first_.spawned.empty());
}

TEST_F(TwoHosts, AQuestionAboutNoNameIsAnsweredAtOnce) {
  EXPECT_EQ(first_.ask(0, "cmd=lookup_name service="), "cmd=lookup_result rc=-1 msg=no_name");
  EXPECT_EQ(first_.ask(0, "cmd=lookup_name"), "cmd=lookup_result rc=-1 msg=no_name");
  EXPECT_EQ(first_.ask(0, "cmd=publish_name service= port=p"), "cmd=publish_result rc=-1 msg=no_name");
  EXPECT_EQ(first_.ask(0, "cmd=unpublish_name service="), "cmd=unpublish_result rc=-1 msg=no_name");
}

TEST_F(TwoHosts, WhatARankPutsHasAnEnd) {
  const std::string value(std::size_t{1} << 20, 'v');
  int taken = 0;
  while (first_.ask(0, "cmd=put kvsname=space key=" + std::to_string(taken) + " value=" + value) ==
             "cmd=put_result rc=0 msg=success" &&
         taken < 100) {
    ++taken;
  }
  EXPECT_EQ(taken, 15);
  EXPECT_EQ(first_.ask(1, "cmd=put kvsname=space key=a value=1"), "cmd=put_result rc=0 msg=success");
}

TEST_F(TwoHosts, OnlyHeadracesLibraryReadsWhatItHasNotAskedFor) {
  for (const bool ours : {false, true}) {
    say_program(first_, 1, 1, ours ? std::vector<std::string>{"escaped=1"} : std::vector<std::string>{});
    const auto sent = decode_spawn(encode(first_.spawned.back()));
    ASSERT_TRUE(sent.has_value());
    EXPECT_EQ(sent->reads_ends, ours);
  }
}

TEST_F(TwoHosts, AProgramOfOnlySessionsHasNotUsedTheWorldModel) {
  const std::string handshake = "cmd=init pmi_version=1 pmi_subversion=1 pid=10";
  first_.ask(0, handshake);
  EXPECT_EQ(first_.ask(0, "cmd=finalize sessions=1"), "cmd=finalize_ack rc=0");
  EXPECT_TRUE(first_.server->finalized(0) && !first_.server->used_world(0));
  first_.ask(0, handshake);
  first_.ask(0, "cmd=finalize");
  EXPECT_TRUE(first_.server->used_world(0));
}

TEST_F(TwoHosts, TheNextProgramOfARankIsAJobOfItsOwn) {
  const std::string handshake = "cmd=init pmi_version=1 pmi_subversion=1 pid=10";
  for (const int rank : {0, 1}) {
    EXPECT_NE(first_.ask(rank, handshake).find("rc=0"), std::string::npos);
    EXPECT_EQ(first_.ask(rank, "cmd=get_my_kvsname"), "cmd=my_kvsname rc=0 kvsname=space");
  }
  first_.ask(0, "cmd=put kvsname=space key=a value=1");
  EXPECT_EQ(first_.ask(0, handshake), "cmd=response_to_init rc=-1 busy=10") << "the first one has not ended";
  first_.ask(0, "cmd=finalize");
  // A rank's next program may begin before another rank's first program has ended.
  EXPECT_NE(first_.ask(0, handshake).find("rc=0"), std::string::npos);
  EXPECT_EQ(first_.ask(0, "cmd=get_my_kvsname"), "cmd=my_kvsname rc=0 kvsname=space_2");
  EXPECT_EQ(first_.ask(0, "cmd=get kvsname=space_2 key=a"), "cmd=get_result rc=-1 msg=key_not_found value=unknown");
  EXPECT_EQ(first_.ask(0, "cmd=put kvsname=space_2 key=a value=2"), "cmd=put_result rc=0 msg=success");
  EXPECT_EQ(first_.ask(1, "cmd=get kvsname=space key=a"), "cmd=get_result rc=0 msg=success value=1");
  EXPECT_NE(first_.ask(0, "cmd=get kvsname=space_2 key=PMI_process_mapping").find("rc=0"), std::string::npos);
  EXPECT_TRUE(first_.server->initialised(0));
  EXPECT_FALSE(first_.server->finalized(0));
  first_.ask(1, "cmd=finalize");
  first_.ask(1, handshake);
  EXPECT_EQ(first_.ask(1, "cmd=get kvsname=space_2 key=a"), "cmd=get_result rc=0 msg=success value=2");
  // Other hosts receive the second program's value, separate from the first one's with the same key.
  first_.ask(0, "cmd=barrier_in");
  first_.ask(1, "cmd=barrier_in");
  ASSERT_EQ(first_.fences.size(), 1u);
  second_.server->publish(first_.fences[0]);
  second_.ask(2, handshake);
  EXPECT_EQ(second_.ask(2, "cmd=get kvsname=space key=a"), "cmd=get_result rc=0 msg=success value=1");
  second_.ask(2, "cmd=finalize");
  second_.ask(2, handshake);
  EXPECT_EQ(second_.ask(2, "cmd=get kvsname=space_2 key=a"), "cmd=get_result rc=0 msg=success value=2");
}

}  // namespace
}  // namespace hr::launcher
