#include <gtest/gtest.h>

#include <vector>

#include "transport/ofi/requests.hpp"

namespace hr::transport::ofi {
namespace {

// A process that refuses operations, or accepts them.
struct Process {
  Line line;
  bool accepts = false;
  unsigned attempts = 0;
  unsigned ended = 0;
};

struct Message : Request {
  explicit Message(Process& to) : process(to) {
    line = &to.line;
    start = [](Request& self) -> ssize_t {
      Process& asked = static_cast<Message&>(self).process;
      ++asked.attempts;
      return asked.accepts ? kAtOnce : -FI_EAGAIN;
    };
    done = [](Request& self, int error) { static_cast<Message&>(self).process.ended += error == 0 ? 1 : 0; };
  }
  Process& process;
};

void make_rounds(Requests& requests, double seconds) {
  for (const double end = now_seconds() + seconds; now_seconds() < end;) requests.retry();
}

// The same until the condition holds.
template <class Condition>
void make_rounds_until(Requests& requests, Condition&& holds) {
  for (const double end = now_seconds() + 20; !holds() && now_seconds() < end;) requests.retry();
}

// libfabric opens a connection at each attempt if the process refuses connections.
TEST(OfiRequests, AttemptsGetRarer) {
  Requests requests;
  Process silent;
  std::vector<Message> messages(20, Message(silent));
  for (Message& each : messages) requests.begin(each);
  make_rounds(requests, 0.7);
  EXPECT_LT(silent.attempts, 200U);
  EXPECT_GT(silent.attempts, 5U);
  const unsigned before = silent.attempts;
  make_rounds(requests, 0.5);
  EXPECT_LE(silent.attempts, before + 11);
  EXPECT_EQ(silent.ended, 0U);
  EXPECT_NE(silent.line.stuck_since, 0);

  silent.accepts = true;
  EXPECT_LT(silent.line.next_try, now_seconds() + 0.1);
  make_rounds_until(requests, [&] { return silent.ended == messages.size(); });
  EXPECT_EQ(silent.ended, messages.size());
  EXPECT_TRUE(requests.idle());
  // From now on, nothing waits.
  Message next(silent);
  requests.begin(next);
  EXPECT_EQ(silent.ended, messages.size() + 1);
}

TEST(OfiRequests, OtherProcessesAreNotDelayed) {
  Requests requests;
  Process silent, other;
  Message refused(silent), first(other);
  requests.begin(refused);
  make_rounds(requests, 0.2);
  requests.begin(first);  // refused once
  other.accepts = true;
  EXPECT_LT(other.line.next_try, now_seconds() + 0.001);
  make_rounds_until(requests, [&] { return other.ended == 1; });
  EXPECT_EQ(other.ended, 1U);
  EXPECT_EQ(other.attempts, 2U);
  silent.accepts = true;
  make_rounds_until(requests, [&] { return silent.ended == 1; });
  EXPECT_EQ(silent.ended, 1U);
}

}  // namespace
}  // namespace hr::transport::ofi
