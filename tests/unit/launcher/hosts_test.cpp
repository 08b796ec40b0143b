// Placement of ranks: lists of hosts, allocations, filling, and the command that starts an agent on a host.
#include <gtest/gtest.h>

#include "plan/rank_layout.hpp"
#include "plan/rank_map.hpp"
#include "plan/remote_command.hpp"
#include "tree/remote_host.hpp"
#include "words/allocation.hpp"
#include "words/host_list.hpp"

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

// Returns the host of each rank, on machines of four cores.
std::string laid_out(std::vector<HostSlots> hosts, std::vector<Program> programs, topo::Mapping mapping = {}) {
  Options options;
  options.programs = std::move(programs);
  options.hosts = std::move(hosts);
  options.mapping = std::move(mapping);
  options.do_not_launch = true;
  options.machines = {"synthetic:pack:2 core:2 pu:1"};
  RankLayout layout;
  EXPECT_TRUE(lay_out(&options, &layout).ok()) << take_detail();
  std::string names;
  for (const int host : layout.host_of) names += layout.hosts[static_cast<std::size_t>(host)].name;
  return names;
}

Program program(int ranks, int per_host = 0, std::vector<HostSlots> hosts = {}) {
  Program made;
  made.ranks = ranks;
  made.per_host = per_host;
  made.hosts = std::move(hosts);
  return made;
}

TEST(Layout, ProgramsFillTheSameHostsTogether) {
  const std::vector<HostSlots> hosts = {{"a", 2, true}, {"b", 1, true}};
  EXPECT_EQ(laid_out(hosts, {program(3)}), "aab");
  EXPECT_EQ(laid_out(hosts, {program(1), program(2)}), "aab");
  EXPECT_EQ(laid_out(hosts, {program(7)}), "aaaabbb");
  EXPECT_EQ(laid_out(hosts, {program(4, 1)}), "abab");
  EXPECT_EQ(laid_out(hosts, {program(0)}), "aab");
  EXPECT_EQ(laid_out(hosts, {program(0, 2)}), "aabb");
  // Each program has its own options, or its own hosts.
  EXPECT_EQ(laid_out(hosts, {program(2, 1), program(2)}), "abaa");
  EXPECT_EQ(laid_out(hosts, {program(1, 0, {{"c", 4, true}}), program(3), program(2, 0, {{"b", 2, true}})}), "caabbb");
}

TEST(Layout, HostsWithoutSlotsShareEqually) {
  const std::vector<HostSlots> hosts = {{"a", 1, false}, {"b", 1, false}};
  EXPECT_EQ(laid_out(hosts, {program(4)}), "aabb");
  EXPECT_EQ(laid_out(hosts, {program(0)}), "ab");
  EXPECT_EQ(laid_out({{"a", 1, false}, {"b", 4, true}}, {program(8)}), "aaaabbbb");
}

TEST(Layout, TooManyRanksAreRefused) {
  Options options;
  options.programs = {program(65536), program(1)};
  options.hosts = {{"localhost", 1, false}};
  RankLayout layout;
  EXPECT_FALSE(lay_out(&options, &layout).ok());
  EXPECT_NE(take_detail().find("65537 ranks; a job has up to 65536"), std::string::npos);
}

TEST(RankMap, KnowsPlaces) {
  const RankMap map({0, 1, 1, 0, 1});
  EXPECT_EQ(map.hosts(), 2);
  EXPECT_EQ(map.place_of(3), 1);
  EXPECT_EQ(map.place_of(4), 2);
  EXPECT_EQ(map.count_at(1), 3);
  EXPECT_EQ(map.ranks_of(0), (std::vector<int>{0, 3}));
  EXPECT_EQ(RankMap::in_blocks(5, 2).ranks_of(0), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(RankMap::in_blocks(5, 2).ranks_of(1), (std::vector<int>{3, 4}));
  EXPECT_EQ(RankMap::in_blocks(2, 8).ranks_of(1), (std::vector<int>{1}));
  EXPECT_EQ(RankMap::in_blocks(2, 8).hosts(), 2);
  EXPECT_EQ(RankMap::in_blocks(4, 2).mapping(), "(vector,(0,2,2))");
}

TEST(Places, LeaveOutTheRootsHost) {
  JobPlan plan;
  plan.hosts = {"a", "b", "c", "d"};
  for (const int root : {-1, 0, 2, 3}) {
    plan.root_host = root;
    EXPECT_EQ(count_places(plan), root < 0 ? 4 : 3);
    for (int place = 0; place < count_places(plan); ++place) {
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
