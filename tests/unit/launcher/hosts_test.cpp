// Where ranks go: lists of hosts, allocations, filling, and the command that reaches a host.
#include <gtest/gtest.h>

#include "allocation.hpp"
#include "host_list.hpp"
#include "planning.hpp"
#include "rank_map.hpp"
#include "remote_command.hpp"
#include "remote_host.hpp"

namespace hr::launcher {
namespace {

using Names = std::vector<std::string>;

TEST(NodeList, IsExpanded) {
  Names names;
  ASSERT_TRUE(expand_node_list("n[1-3,07],m2,r[1-2]c[08-10]x,one", &names));
  EXPECT_EQ(names,
            (Names{"n1", "n2", "n3", "n07", "m2", "r1c08x", "r1c09x", "r1c10x", "r2c08x", "r2c09x", "r2c10x", "one"}));
  for (const char* wrong : {"", "n[", "n[1", "n[1-]", "n[3-1]", "n[a]", "n1,", ",n1", "n[1-99999999]", "n[]",
                            "n[0-9999][0-9999][0-9999]"}) {
    EXPECT_FALSE(expand_node_list(wrong, &names)) << wrong;
  }
}

TEST(Counts, AreExpanded) {
  std::vector<int> counts;
  ASSERT_TRUE(expand_counts("2(x3),1,16(x2)", &counts));
  EXPECT_EQ(counts, (std::vector<int>{2, 2, 2, 1, 16, 16}));
  for (const char* wrong : {"", "0", "2(x", "2(3)", "2(x3", "-1", "2,", "1(x99999999)", "2(x0)", "99999999"}) {
    EXPECT_FALSE(expand_counts(wrong, &counts)) << wrong;
  }
}

TEST(HostName, IsAWordForShellAndSsh) {
  for (const char* good : {"a", "n1.example.org", "user@n1", "10.0.0.1", "fe80::1%eth0", "::1", "my_host-2"}) {
    EXPECT_TRUE(check_host_name("x", good).ok()) << good;
  }
  for (const char* bad :
       {"", "-l", "a b", "a;b", "$(x)", "a'b", "a\nb", "a/b", "@a", "a\\b", "a`b", "_a", "\xc3\xa4"}) {
    EXPECT_FALSE(check_host_name("x", bad).ok()) << bad;
    take_detail();
  }
  EXPECT_FALSE(check_host_name("x", std::string(256, 'a')).ok());
  take_detail();
}

Names filled(std::vector<HostSlots> hosts, int ranks, int per_host, bool* oversubscribed) {
  HostFiller filler(std::move(hosts));
  Names names;
  for (int rank = 0; rank < ranks; ++rank)
    names.push_back(filler.hosts()[static_cast<std::size_t>(filler.next(per_host))].name);
  *oversubscribed = filler.is_oversubscribed();
  return names;
}

TEST(Filling, TakesSlotsThenBeginsAgain) {
  const std::vector<HostSlots> hosts = {{"a", 2, true}, {"b", 1, true}};
  bool over = true;
  EXPECT_EQ(filled(hosts, 3, 0, &over), (Names{"a", "a", "b"}));
  EXPECT_FALSE(over);
  EXPECT_EQ(filled(hosts, 7, 0, &over), (Names{"a", "a", "b", "a", "a", "b", "a"}));
  EXPECT_TRUE(over);
  EXPECT_EQ(filled(hosts, 4, 1, &over), (Names{"a", "b", "a", "b"}));
  EXPECT_EQ(filled(hosts, 5, 3, &over), (Names{"a", "a", "a", "b", "b"}));
}

TEST(RankMap, KnowsPlaces) {
  const RankMap map({0, 1, 1, 0, 1});
  EXPECT_EQ(map.hosts(), 2);
  EXPECT_EQ(map.place_of(3), 1);
  EXPECT_EQ(map.place_of(4), 2);
  EXPECT_EQ(map.count_at(1), 3);
  EXPECT_EQ(map.ranks_of(0), (std::vector<int>{0, 3}));
  EXPECT_EQ(RankMap::in_blocks(5, 2).host_of_all(), (std::vector<int>{0, 0, 0, 1, 1}));
  EXPECT_EQ(RankMap::in_blocks(2, 8).host_of_all(), (std::vector<int>{0, 1}));
  EXPECT_EQ(RankMap::in_blocks(4, 2).mapping(), "(vector,(0,2,2))");
}

TEST(Places, LeaveOutTheRootsHost) {
  JobPlan plan;
  plan.hosts = {"a", "b", "c", "d"};
  for (const int root : {-1, 0, 2, 3}) {
    plan.root_host = root;
    EXPECT_EQ(count_of_places(plan), root < 0 ? 4 : 3);
    for (int place = 0; place < count_of_places(plan); ++place) {
      EXPECT_NE(host_at(plan, place), root);
      EXPECT_EQ(place_of(plan, host_at(plan, place)), place);
    }
    if (root >= 0) {
      EXPECT_EQ(place_of(plan, root), -1);
    }
  }
}

TEST(Command, HoldsAPathAndNothingOfTheJob) {
  const Names words =
      remote_command(remote_shell("ssh -p 22", false), "h1", "/opt/it's/bin/mpiexec", std::chrono::seconds(7));
  EXPECT_EQ(words.front(), "ssh");
  EXPECT_EQ(words[words.size() - 2], "h1");
  EXPECT_EQ(words.back(),
            "test -x '/opt/it'\\''s/bin/mpiexec' && exec '/opt/it'\\''s/bin/mpiexec' --agent || exec mpiexec --agent");
  EXPECT_NE(std::find(words.begin(), words.end(), "BatchMode=yes"), words.end());
  EXPECT_NE(std::find(words.begin(), words.end(), "ConnectTimeout=7"), words.end());
  EXPECT_EQ(remote_shell("auto", true).kind, RemoteShell::Kind::kSrun);
  EXPECT_EQ(remote_shell("auto", false).kind, RemoteShell::Kind::kSsh);
  EXPECT_EQ(remote_shell("/usr/bin/ssh", true).kind, RemoteShell::Kind::kSsh);
  EXPECT_EQ(remote_shell("slurm", false).words, Names{"srun"});
  EXPECT_EQ(remote_shell("/x/mine -v", true).kind, RemoteShell::Kind::kOther);
}

}  // namespace
}  // namespace hr::launcher
