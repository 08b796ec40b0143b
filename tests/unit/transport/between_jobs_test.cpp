// Shared memory between processes of two jobs: a peer that ended while it connected counts as failed once both groups
// have reported that they are connected, and not before.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "boot/processes.hpp"
#include "transport/shm/shm.hpp"

namespace hr::transport::shm {
namespace {

constexpr double kSeconds = 0.5;  // several times as long as the time between two checks

std::vector<int> failed;
std::string why;

TEST(BetweenJobs, APeerThatEndedBeforeThisProcessJoinedHasFailed) {
  boot::Processes processes("one", 0, {0});
  const int peer = processes.add("other", 0, 0);
  const Job job{0, 1, processes, "one", true};
  Handlers handlers;
  handlers.failed = [](int proc, Status) {
    failed.push_back(proc);
    why = take_detail();
  };
  const PeerGroups groups{"unit." + std::to_string(::getpid()) + ".connect", {0}, {peer}, {""}, true};
  std::unique_ptr<Transport> transport;
  ASSERT_TRUE(kRecord.connect_groups(job, handlers, groups, &transport).ok()) << take_detail();
  const auto progress = [&](double seconds) {
    for (const double end = now_seconds() + seconds; now_seconds() < end && failed.empty();) transport->progress();
  };
  progress(kSeconds);
  transport->confirm(std::vector<int>{peer + 1});  // of other groups
  progress(kSeconds);
  EXPECT_TRUE(failed.empty());
  transport->confirm(std::vector<int>{peer});
  progress(20);
  EXPECT_EQ(failed, std::vector<int>{peer});
  EXPECT_NE(why.find("ended while it connected"), std::string::npos) << why;
  EXPECT_TRUE(transport->finalize().ok());
}

}  // namespace
}  // namespace hr::transport::shm
