#include "boot/processes.hpp"

#include <gtest/gtest.h>

namespace hr::boot {
namespace {

const std::vector<int> kHosts = {0, 1, 0, 2, 1};

TEST(Processes, OfAJobTheIndexIsTheRank) {
  const Processes processes("job", 4, kHosts);
  EXPECT_EQ(processes.size(), 5);
  EXPECT_EQ(processes.self(), 4);
  for (int proc = 0; proc < 5; ++proc) {
    EXPECT_EQ(processes[proc].rank, proc);
    EXPECT_EQ(processes.job_of(proc), "job");
    EXPECT_EQ(processes.host_of(proc), kHosts[static_cast<std::size_t>(proc)]);
    EXPECT_EQ(processes.on_this_host(proc), proc == 1 || proc == 4);
    EXPECT_FALSE(processes.failed(proc));
  }
  EXPECT_EQ(std::vector<int>(processes.of_this_host().begin(), processes.of_this_host().end()),
            (std::vector<int>{1, 4}));
  EXPECT_FALSE(processes.first_on_host());
  EXPECT_FALSE(processes.job_on_one_host());
  EXPECT_EQ(processes.key("ucx", 3), "headrace-ucx-3");
  EXPECT_TRUE(Processes("job", 1, kHosts).first_on_host());
  EXPECT_TRUE(Processes("job", 1, {7, 7}).job_on_one_host());
}

TEST(Processes, OtherJobsAreAddedOnce) {
  Processes processes("job", 0, kHosts);
  EXPECT_EQ(processes.add("job", 3, 2), 3);
  const int first = processes.add("spawned", 1, 0);
  EXPECT_EQ(first, 5);
  EXPECT_EQ(processes.add("spawned", 0, kUnknownHost), 6);
  EXPECT_EQ(processes.add("connected", 1, 9), 7);
  EXPECT_EQ(processes.add("spawned", 1, 0), first);
  EXPECT_EQ(processes.add("spawned", 0, 0), 6);
  EXPECT_EQ(processes.size(), 8);
  EXPECT_EQ(processes[first].rank, 1);
  EXPECT_EQ(processes.job_of(7), "connected");
  EXPECT_TRUE(processes.on_this_host(first));
  EXPECT_FALSE(processes.on_this_host(6)) << "its host is not known";
  EXPECT_TRUE(processes.same_host(6, 6));
  EXPECT_EQ(processes.of_this_host().size(), 2U) << "of the own job";
}

TEST(Processes, AFailedOneStaysInItsPlace) {
  Processes processes("job", 0, kHosts);
  processes.mark_failed(3);
  for (int proc = 0; proc < 5; ++proc) EXPECT_EQ(processes.failed(proc), proc == 3);
  EXPECT_EQ(processes[3].rank, 3);
}

}  // namespace
}  // namespace hr::boot
