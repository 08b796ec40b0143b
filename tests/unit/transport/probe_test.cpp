// Probes tell a host that is silent from one on which a process accepts no connections.
#include "transport/network/probe.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/clock.hpp"
#include "transport/network/socket_address.hpp"

namespace hr::transport::network {
namespace {

constexpr double kLimit = 20;        // seconds
constexpr int kSlowestAnswer = 100;  // milliseconds, on the loopback interface

sockaddr_storage loopback() {
  sockaddr_storage address{};
  auto& four = reinterpret_cast<sockaddr_in&>(address);
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Listens, and accepts nothing.
class Listener {
 public:
  explicit Listener(int backlog) {
    socklen_t length = length_of(address_);
    auto* const generic = reinterpret_cast<sockaddr*>(&address_);
    EXPECT_EQ(::bind(socket_, generic, length), 0);
    EXPECT_EQ(::listen(socket_, backlog), 0);
    EXPECT_EQ(::getsockname(socket_, generic, &length), 0);
  }
  ~Listener() {
    for (const int each : strangers_) ::close(each);
    ::close(socket_);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] const sockaddr_storage& address() const noexcept { return address_; }
  // Connects until the system ignores a request.
  void fill() {
    for (bool answered = true; answered;) {
      const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      ASSERT_GE(made, 0);
      strangers_.push_back(made);
      static_cast<void>(::connect(made, reinterpret_cast<const sockaddr*>(&address_), length_of(address_)));
      pollfd watched{made, POLLOUT, 0};
      answered = ::poll(&watched, 1, kSlowestAnswer) == 1;
    }
  }

 private:
  int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_storage address_ = loopback();
  std::vector<int> strangers_;
};

// Returns the answer; -1 if there is none.
int answer_of(Probe& probe) {
  int error = -1;
  for (const double end = now_seconds() + kLimit; now_seconds() < end;) {
    if (probe.answered(&error)) return error;
  }
  return -1;
}

TEST(Probe, AProcessThatListens) {
  const Listener listener(8);
  Probe probe;
  ASSERT_TRUE(probe.begin(listener.address()));
  EXPECT_EQ(answer_of(probe), 0);
  EXPECT_FALSE(probe.is_pending());
}

TEST(Probe, AClosedPortIsRefused) {
  ClosedPort port;
  ASSERT_EQ(port.open(loopback()), 0);
  ASSERT_NE(port.port(), 0);
  Probe probe;
  for (int again = 0; again < 3; ++again) {
    ASSERT_TRUE(probe.begin(with_port(loopback(), port.port())));
    EXPECT_EQ(answer_of(probe), ECONNREFUSED);
  }
}

TEST(Probe, ARequestThatTheSystemDoesNotSend) {
  Probe probe;
  sockaddr_storage nowhere = with_port(loopback(), htons(9));
  reinterpret_cast<sockaddr_in&>(nowhere).sin_addr.s_addr = htonl(INADDR_BROADCAST);
  ASSERT_TRUE(probe.begin(nowhere));
  EXPECT_GT(answer_of(probe), 0);
}

TEST(HostProbe, AHostThatAnswersIsNotSilent) {
  ClosedPort port;
  ASSERT_EQ(port.open(loopback()), 0);
  const sockaddr_storage closed = with_port(loopback(), port.port());
  HostProbe host;
  // The time that the calls pass is made up; the answer to a request comes in real time.
  for (double now = 1; now < 1000; now += 0.5) {
    const double end = now_seconds() + kLimit;
    while (host.silent_seconds(closed, now) != 0 && now_seconds() < end) {
    }
    ASSERT_EQ(host.silent_seconds(closed, now), 0) << now;
    ASSERT_TRUE(now < 2 || host.has_answered()) << now;
  }
}

TEST(HostProbe, AHostThatDoesNotAnswerIsSilent) {
  Listener listener(0);
  listener.fill();
  HostProbe host;
  for (double now = 1; now < 60; now += 0.5) EXPECT_EQ(host.silent_seconds(listener.address(), now), now - 1);
  EXPECT_FALSE(host.has_answered());
  // Begins anew.
  host.stop();
  EXPECT_EQ(host.silent_seconds(listener.address(), 100), 0);
  EXPECT_EQ(host.silent_seconds(listener.address(), 103), 3);
}

}  // namespace
}  // namespace hr::transport::network
