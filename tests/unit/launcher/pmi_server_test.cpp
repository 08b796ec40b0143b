// PmiServer: the ranks of two hosts, whose servers the test stands between.
#include "pmi_server.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace hr::launcher {
namespace {

struct Host {
  Host(const RankMap& map, int number, int loss_board = -1) {
    PmiServer::Callbacks callbacks;
    callbacks.send = [this](int rank, std::string_view line) { answers[rank].emplace_back(line); };
    callbacks.abort = [](int, int) {};
    callbacks.crashed = [](int, int) {};
    callbacks.fence = [this](std::vector<KeyValue> values) { fences.push_back(std::move(values)); };
    callbacks.ask = [this](const std::string& key) { asked.push_back(key); };
    callbacks.answer = [this](std::vector<KeyValue> values) { answered.push_back(std::move(values)); };
    server = std::make_unique<PmiServer>("space", std::vector<int>(static_cast<std::size_t>(map.ranks()), 0), map,
                                         map.ranks_of(number), 0, loss_board, std::move(callbacks));
  }
  std::string ask(int rank, const std::string& line) {
    const std::size_t before = answers[rank].size();
    server->handle_line(rank, line);
    return answers[rank].size() > before ? answers[rank].back() : "";
  }

  std::map<int, std::vector<std::string>> answers;
  std::vector<std::vector<KeyValue>> fences;
  std::vector<std::string> asked;
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
  // The next one hands out what is new.
  first_.ask(0, "cmd=barrier_in");
  first_.ask(1, "cmd=barrier_in");
  EXPECT_TRUE(first_.fences[1].empty());
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
  first.server->lose(1);
  second.server->lose(1);
  ASSERT_EQ(first.fences.size(), 1u);
  first.server->lose(2);  // of another host: as before
  EXPECT_EQ(first.fences.size(), 1u);
  // A host where nobody is left is always ready.
  second.server->lose(2);
  EXPECT_TRUE(second.fences.empty());
  second.server->lose(3);
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
  host.server->lose(0);
  EXPECT_EQ(host.answers[1].back(), "cmd=get_result rc=-1 msg=key_not_found value=unknown");
}

}  // namespace
}  // namespace hr::launcher
