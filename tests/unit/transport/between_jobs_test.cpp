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

std::string name_of(int number) { return "unit." + std::to_string(::getpid()) + ".connect." + std::to_string(number); }

TEST(BetweenJobs, APeerThatEndedBeforeThisProcessJoinedHasFailed) {
  boot::Processes processes("one", 0, {0});
  const int peer = processes.add("other", 0, 0);
  const int second = processes.add("other", 1, 0);
  const Job job{0, 1, processes, "one", true};
  Handlers handlers;
  handlers.failed = [](int proc, Status) {
    failed.push_back(proc);
    why = take_detail();
  };
  std::unique_ptr<Transport> transport, other;
  const PeerGroups groups{name_of(1), {0}, {peer, second}, {"", ""}, true};
  const PeerGroups others{name_of(2), {0}, {second}, {""}, true};
  ASSERT_TRUE(kRecord.connect_groups(job, handlers, groups, &transport).ok()) << take_detail();
  ASSERT_TRUE(kRecord.connect_groups(job, handlers, others, &other).ok()) << take_detail();
  const auto progress = [](Transport& of, double seconds) {
    for (const double end = now_seconds() + seconds; now_seconds() < end && failed.empty();) of.progress();
  };
  progress(*transport, kSeconds);
  // Another connection to one of its processes is complete.
  EXPECT_TRUE(transport->connects(groups.name) && !transport->connects(others.name));
  other->confirm();
  progress(*transport, kSeconds);
  EXPECT_TRUE(failed.empty());
  transport->confirm();
  progress(*transport, 20);
  EXPECT_EQ(failed, (std::vector<int>{peer, second}));
  EXPECT_NE(why.find("did not join"), std::string::npos) << why;
  EXPECT_TRUE(transport->finalize().ok() && other->finalize().ok());
}

TEST(BetweenJobs, APeerThatHasAbandonedTheConnectionHasFailed) {
  failed.clear();
  boot::Processes ours("one", 0, {0}), theirs("other", 0, {0});
  const int peer = ours.add("other", 0, 0), own = theirs.add("one", 0, 0);
  const Job job{0, 1, ours, "one", true}, other_job{0, 1, theirs, "other", true};
  Handlers handlers;
  handlers.failed = [](int proc, Status) {
    failed.push_back(proc);
    why = take_detail();
  };
  std::unique_ptr<Transport> transport, other;
  const PeerGroups groups{name_of(3), {0}, {peer}, {""}, true}, reversed{name_of(3), {0}, {own}, {""}, false};
  ASSERT_TRUE(kRecord.connect_groups(job, handlers, groups, &transport).ok()) << take_detail();
  ASSERT_TRUE(kRecord.connect_groups(other_job, handlers, reversed, &other).ok()) << take_detail();
  transport->confirm();
  other->abandon();
  ASSERT_TRUE(other->finalize().ok());
  for (const double end = now_seconds() + 20; now_seconds() < end && failed.empty();) transport->progress();
  EXPECT_EQ(failed, std::vector<int>{peer});
  EXPECT_NE(why.find("could not connect"), std::string::npos) << why;
  EXPECT_TRUE(transport->finalize().ok());
}

}  // namespace
}  // namespace hr::transport::shm
