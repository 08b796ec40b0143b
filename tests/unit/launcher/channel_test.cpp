// When a channel gives up on a silent neighbour.
#include "wire/channel.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "system/event_loop.hpp"

namespace hr::launcher {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSilence{20};
constexpr milliseconds kLimit = kSilence + kSilence;  // with the time that TCP may need

// Returns how long a channel waits for a neighbour that reports these loads, one each half of kSilence, and is silent
// then.
milliseconds patience_with(const std::vector<int>& loads) {
  int down[2], up[2];
  EXPECT_EQ(::pipe2(down, O_CLOEXEC), 0);
  EXPECT_EQ(::pipe2(up, O_CLOEXEC), 0);
  const Descriptor read_by_neighbour(down[0]);
  const Descriptor written_by_neighbour(up[1]);
  EventLoop loop;
  bool closed = false;
  std::string why;
  auto last = EventLoop::Clock::now();
  Channel channel(loop, Descriptor(up[0]), Descriptor(down[1]), kSilence,
                  {.message = [](const Message&) { FAIL() << "a sign of life is no message for the owner"; },
                   .closed =
                       [&](const std::string& cause) {
                         closed = true;
                         why = cause;
                       }},
                  "");
  const auto report = [&](int load) {
    std::string bytes;
    append_frame(&bytes, encode({.numbers = {load}}));
    EXPECT_EQ(::write(written_by_neighbour.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    last = EventLoop::Clock::now();
  };
  int delay = 0;
  for (const int load : loads) {
    loop.after(kSilence / 2 * delay++, [&report, load] { report(load); });
  }
  while (!closed) loop.run_once();
  EXPECT_NE(why.find("no sign of life"), std::string::npos) << why;
  return std::chrono::duration_cast<milliseconds>(EventLoop::Clock::now() - last);
}

// Upper bounds would depend on the load of this machine.
TEST(Channel, WaitsLongerForANeighbourUnderLoad) {
  EXPECT_GE(patience_with({}), kLimit);
  EXPECT_GE(patience_with({7}), kLimit);
  EXPECT_GE(patience_with({8}), 2 * kLimit);
  EXPECT_GE(patience_with({32}), 8 * kLimit);
}

TEST(Channel, RemembersLoadForAWhile) { EXPECT_GE(patience_with({32, 0}), 4 * kLimit); }

TEST(Channel, BoundsWhatANeighbourMayClaim) {
  const milliseconds waited = patience_with({1 << 30});
  EXPECT_GE(waited, 10 * kLimit);
  EXPECT_LT(waited, std::chrono::minutes(5));
}

// The shortest of several attempts is not delayed by other programs.
TEST(Channel, DoesNotWaitLongerWithoutLoad) {
  milliseconds least{1 << 20};
  for (int attempt = 0; attempt < 20 && least >= 2 * kLimit; ++attempt) least = std::min(least, patience_with({4}));
  EXPECT_LT(least, 2 * kLimit);
}

}  // namespace
}  // namespace hr::launcher
