// A port to which strangers connect: a caller without the secret is dropped soon and does not lock out others, and no
// message reveals the secret.
#include "boot/port.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "base/clock.hpp"

namespace hr::boot {
namespace {

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts(1);
  for (const char each : name) {
    if (each == '_') {
      parts.emplace_back();
    } else {
      parts.back() += each;
    }
  }
  return parts;
}

// Sockets that connect to a port and send arbitrary data, or nothing.
class Strangers {
 public:
  explicit Strangers(const std::string& port) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address_.sin_port = htons(static_cast<std::uint16_t>(std::stoi(parts_of(port)[2])));
  }
  ~Strangers() {
    for (const int each : sockets_) ::close(each);
  }
  Strangers(const Strangers&) = delete;
  void come(int count, const std::string& words) {
    for (int i = 0; i < count; ++i) {
      const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      ASSERT_GE(made, 0);
      sockets_.push_back(made);
      ::connect(made, reinterpret_cast<const sockaddr*>(&address_), sizeof address_);
      if (!words.empty()) static_cast<void>(::send(made, words.data(), words.size(), MSG_NOSIGNAL));
    }
  }
  // Returns the number of connections that the port has not closed.
  [[nodiscard]] int left() const {
    int count = 0;
    for (const int each : sockets_) {
      pollfd state{each, POLLIN, 0};
      count += ::poll(&state, 1, 0) == 0 ? 1 : 0;
    }
    return count;
  }

 private:
  sockaddr_in address_{};
  std::vector<int> sockets_;
};

// Advances both sides until the caller is accepted; returns null after `seconds` seconds.
std::unique_ptr<Channel> accept(Port& port, Channel& caller, double seconds) {
  std::unique_ptr<Channel> accepted;
  for (const double end = now_seconds() + seconds; now_seconds() < end && (accepted == nullptr || !caller.greeted());) {
    if (!caller.step().ok()) return nullptr;
    if (accepted == nullptr) {
      accepted = port.accept();
    } else if (!accepted->step().ok()) {
      return nullptr;
    }
  }
  return caller.greeted() ? std::move(accepted) : nullptr;
}

TEST(Port, LetsInWhoKnowsTheSecret) {
  Port port;
  ASSERT_TRUE(port.open(false).ok());
  std::unique_ptr<Channel> caller;
  ASSERT_TRUE(dial(port.name(), &caller).ok());
  const auto accepted = accept(port, *caller, 10);
  ASSERT_NE(accepted, nullptr);
  caller->send("a message");
  std::string heard;
  for (const double end = now_seconds() + 10; now_seconds() < end && !accepted->take(&heard);) {
    ASSERT_TRUE(caller->step().ok());
    ASSERT_TRUE(accepted->step().ok());
  }
  EXPECT_EQ(heard, "a message");
}

TEST(Port, FourHundredSilentConnectionsKeepNobodyOut) {
  Port port;
  ASSERT_TRUE(port.open(false).ok());
  Strangers strangers(port.name());
  strangers.come(200, "");
  strangers.come(200, parts_of(port.name())[3].substr(0, 31));  // all but the last digit
  std::unique_ptr<Channel> caller;
  ASSERT_TRUE(dial(port.name(), &caller).ok());
  const double begin = now_seconds();
  EXPECT_NE(accept(port, *caller, 10), nullptr);
  EXPECT_LT(now_seconds() - begin, 3) << "each place is held for a moment only";
  // All strangers are dropped soon, with or without other callers.
  for (const double end = now_seconds() + 10; now_seconds() < end && strangers.left() != 0;) {
    EXPECT_EQ(port.accept(), nullptr);
  }
  EXPECT_EQ(strangers.left(), 0);
}

TEST(Port, WrongSecretsAreDroppedAtOnce) {
  Port port;
  ASSERT_TRUE(port.open(false).ok());
  Strangers strangers(port.name());
  strangers.come(20, std::string(32, '0'));
  strangers.come(20, std::string(1000, '\xff'));
  const double begin = now_seconds();
  for (const double end = begin + 10; now_seconds() < end && strangers.left() != 0;) {
    EXPECT_EQ(port.accept(), nullptr);
  }
  EXPECT_LT(now_seconds() - begin, Callers::kSeconds) << "not when their time is up";
  EXPECT_EQ(strangers.left(), 0);
}

TEST(Port, MessagesDoNotShowItsSecrets) {
  std::string name;
  {
    Port port;
    ASSERT_TRUE(port.open(false).ok());
    name = port.name();
  }
  const std::vector<std::string> parts = parts_of(name);
  std::unique_ptr<Channel> caller;
  for (const std::string& each : {name, name + "0", name.substr(0, name.size() - 3), name.substr(0, 45), " " + name,
                                  "x\n" + name, parts[3] + parts[4]}) {
    EXPECT_EQ(dial(each, &caller).errc(), Errc::kPort) << each;
    const std::string text = take_detail();
    EXPECT_EQ(text.find('\n'), std::string::npos);
    for (const int secret : {3, 4}) {
      for (std::size_t at = 0; at + 8 <= parts[secret].size(); ++at) {
        EXPECT_EQ(text.find(parts[secret].substr(at, 8)), std::string::npos) << text;
      }
    }
  }
  EXPECT_EQ(shown_port(name), "the port at 127.0.0.1:" + parts[2]);
}

}  // namespace
}  // namespace hr::boot
