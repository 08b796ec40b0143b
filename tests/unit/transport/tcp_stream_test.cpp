// The byte stream of a connection over TCP: its proof, and frames that arrive in pieces of any length.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "tcp_peer.hpp"
#include "transport/network/channels.hpp"
#include "transport/tcp/frame.hpp"

namespace hr::transport::tcp {
namespace {

constexpr double kLimit = 20;  // seconds

struct Arrived {
  std::uint64_t number;
  std::vector<std::byte> payload;
};
std::vector<Arrived> arrived;

void take(int from, const Header& header, const std::byte* payload, std::size_t bytes) {
  EXPECT_EQ(from, kPeer);
  arrived.push_back({header.words[1], {payload, payload + bytes}});
}

Handlers handlers_that_take() {
  Handlers handlers;
  handlers.of_kind.fill(take);
  return handlers;
}

template <class Plain>
void append(std::vector<std::byte>& stream, const Plain& plain) {
  const auto bytes = std::as_bytes(std::span(&plain, 1));
  stream.insert(stream.end(), bytes.begin(), bytes.end());
}

std::vector<std::byte> payload_of(std::uint64_t number, std::size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (std::size_t at = 0; at < bytes; ++at) made[at] = static_cast<std::byte>(number * 31 + at * 7 + at / 251);
  return made;
}

TEST(TcpStream, FramesArriveInPiecesOfAnyLength) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto up_to = [&](std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most)(random); };
  const Handlers handlers = handlers_that_take();
  for (int round = 0; round < 20; ++round) {
    arrived.clear();
    TcpPeer peer(handlers);
    peer.connect();
    std::vector<std::byte> stream;
    std::vector<std::size_t> sizes;
    for (std::uint64_t number = 0; number < 60; ++number) {
      const std::size_t limits[] = {0, 40, 3000, 70000, 300000};
      sizes.push_back(up_to(limits[up_to(4)]));
      append(stream, FrameHead{Frame::kMessage, static_cast<std::uint32_t>(sizes.back()), {3, number, 0}});
      const std::vector<std::byte> payload = payload_of(number, sizes.back());
      stream.insert(stream.end(), payload.begin(), payload.end());
    }
    const std::size_t longest_piece = round % 2 == 0 ? 300 : 200000;
    const double end = now_seconds() + kLimit;
    for (std::size_t at = 0; at < stream.size();) {
      ASSERT_LT(now_seconds(), end);
      const std::size_t piece = std::min(stream.size() - at, 1 + up_to(longest_piece));
      const ssize_t sent = ::send(peer.socket(), stream.data() + at, piece, MSG_DONTWAIT | MSG_NOSIGNAL);
      ASSERT_TRUE(sent > 0 || errno == EAGAIN) << std::strerror(errno);
      if (sent > 0) at += static_cast<std::size_t>(sent);
      if (up_to(3) != 0) peer.transport().progress();
    }
    while (arrived.size() < sizes.size() && now_seconds() < end) peer.transport().progress();
    ASSERT_EQ(arrived.size(), sizes.size());
    for (std::uint64_t number = 0; number < sizes.size(); ++number) {
      ASSERT_EQ(arrived[number].number, number);
      ASSERT_EQ(arrived[number].payload, payload_of(number, sizes[number])) << number;
    }
  }
}

TEST(TcpHandshake, OnlyTheKeyProves) {
  const Nonce key = make_nonce();
  const Nonce other = make_nonce();
  const Hello hello = make_hello(key, 7);
  EXPECT_TRUE(is_proven(key, hello));
  EXPECT_FALSE(is_proven(other, hello));
  const Welcome welcome = make_welcome(key, hello.challenge);
  EXPECT_TRUE(is_proven(key, hello.challenge, welcome));
  EXPECT_FALSE(is_proven(other, hello.challenge, welcome));
  EXPECT_FALSE(is_proven(key, other, welcome));
  for (std::size_t bit = 0; bit < 8 * sizeof hello; ++bit) {
    Hello changed = hello;
    reinterpret_cast<unsigned char*>(&changed)[bit / 8] ^= static_cast<unsigned char>(1U << bit % 8);
    EXPECT_FALSE(is_proven(key, changed)) << bit;
  }
}

// True if a read returns the end of the stream or a reset: the connection was refused or has ended.
bool is_closed(int socket, Transport& transport) {
  const double end = now_seconds() + kLimit;
  std::byte byte;
  while (now_seconds() < end) {
    transport.progress();
    const ssize_t got = ::recv(socket, &byte, 1, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) return true;
    if (got > 0) return false;
  }
  return false;
}

TEST(TcpHandshake, AProofIsAcceptedOnce) {
  const Handlers handlers = handlers_that_take();
  TcpPeer peer(handlers);
  peer.connect();
  const Hello again = make_hello(peer.key(), kPeer);
  const int second = peer.dial();
  ASSERT_EQ(::send(second, &again, sizeof again, 0), static_cast<ssize_t>(sizeof again));
  EXPECT_TRUE(is_closed(second, peer.transport()));
  ::close(second);
}

// The name belongs to a process of another job, which this process does not know yet.
TEST(TcpHandshake, ARecordedProofIsRefused) {
  const Handlers handlers = handlers_that_take();
  TcpPeer peer(handlers);
  const Hello hello = make_hello(peer.key(), 0x80000005);
  const int first = peer.dial();
  ASSERT_EQ(::send(first, &hello, sizeof hello, 0), static_cast<ssize_t>(sizeof hello));
  const int second = peer.dial();
  ASSERT_EQ(::send(second, &hello, sizeof hello, 0), static_cast<ssize_t>(sizeof hello));
  EXPECT_TRUE(is_closed(second, peer.transport()));
  std::byte byte;
  EXPECT_EQ(::recv(first, &byte, 1, MSG_DONTWAIT), -1) << "it waits for its name";
  ::close(first);
  ::close(second);
}

TEST(TcpHandshake, SilentAndWrongConnectionsAreClosed) {
  const Handlers handlers = handlers_that_take();
  TcpPeer peer(handlers);
  const Hello hello = make_hello(make_nonce(), kPeer);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, sizeof hello - 1, sizeof hello}) {
    const int made = peer.dial();
    ASSERT_EQ(::send(made, &hello, bytes, 0), static_cast<ssize_t>(bytes));
    EXPECT_TRUE(is_closed(made, peer.transport())) << bytes;
    ::close(made);
  }
}

TEST(TcpStream, AMalformedFrameEndsThePath) {
  const Handlers handlers = handlers_that_take();
  const FrameHead wrong[] = {{Frame{0}, 0, {}},
                             {Frame{7}, 0, {}},
                             {Frame::kMessage, 0xffffffff, {}},
                             {Frame::kData, 64, {1, 0, 0}},
                             {Frame::kFetch, 8, {}},
                             {Frame::kReadyToSend, 8, {}}};
  for (const FrameHead& head : wrong) {
    TcpPeer peer(handlers);
    peer.connect();
    ASSERT_EQ(::send(peer.socket(), &head, sizeof head, 0), static_cast<ssize_t>(sizeof head));
    EXPECT_TRUE(is_closed(peer.socket(), peer.transport())) << static_cast<unsigned>(head.kind);
  }
}

// --- Channels ---

std::vector<int> on_channel;  // words of the messages that a channel has received

Handlers handlers_of_channel() {
  Handlers handlers;
  handlers.of_kind.fill([](int from, const Header& header, const std::byte*, std::size_t) {
    EXPECT_EQ(from, kPeer);
    on_channel.push_back(static_cast<int>(header.words[1]));
  });
  return handlers;
}

void send_word(int socket, std::uint64_t word) {
  const FrameHead head{Frame::kMessage, 0, {3, word, 0}};
  ASSERT_EQ(::send(socket, &head, sizeof head, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof head));
}

void wait_for(std::size_t count, Transport& transport) {
  for (const double end = now_seconds() + kLimit; on_channel.size() < count && now_seconds() < end;)
    transport.progress();
}

// Creates the channel that a connection asks for, if its number is below `offered`. Installed while this object exists.
struct Asked {
  Asked(TcpPeer& peer, const Handlers& handlers, int offered) : peer(peer), handlers(handlers), offered(offered) {
    current = this;
    network::channel_maker = [](int from, int number) {
      EXPECT_EQ(from, kPeer);
      ++current->times;
      if (number >= current->offered) return;
      EXPECT_TRUE(current->peer.transport().make_channel(number, current->handlers, &current->made).ok());
    };
  }
  ~Asked() {
    network::channel_maker = nullptr;
    if (made == nullptr) return;
    EXPECT_TRUE(made->finalize().ok());
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  static inline Asked* current = nullptr;
  TcpPeer& peer;
  const Handlers& handlers;
  int offered;
  int times = 0;
  std::unique_ptr<Transport> made;
};

TEST(TcpChannel, AConnectionReachesTheChannelThatItNames) {
  on_channel.clear();
  arrived.clear();
  const Handlers handlers = handlers_that_take();
  const Handlers of_channel = handlers_of_channel();
  TcpPeer peer(handlers);
  peer.connect();
  Asked asked(peer, of_channel, 4);
  const int socket = peer.connect_to(3, &asked.made);
  EXPECT_EQ(asked.times, 1);
  send_word(socket, 5);
  send_word(peer.socket(), 6);
  send_word(socket, 7);
  wait_for(2, *asked.made);
  for (const double end = now_seconds() + kLimit; arrived.empty() && now_seconds() < end;) peer.transport().progress();
  EXPECT_EQ(on_channel, (std::vector<int>{5, 7}));
  ASSERT_EQ(arrived.size(), 1U);
  EXPECT_EQ(arrived[0].number, 6U);
  // Messages of the channel leave on its connection.
  ASSERT_TRUE(asked.made->connect(kPeer).ok());
  ASSERT_TRUE(asked.made->send(kPeer, Header{{3, 8, 0}}, nullptr, 0).ok());
  FrameHead head{};
  ASSERT_EQ(::recv(socket, &head, sizeof head, MSG_WAITALL), static_cast<ssize_t>(sizeof head));
  EXPECT_EQ(head.words[1], 8U);
  ::close(socket);
}

TEST(TcpChannel, AProcessConnectsToAChannelOnce) {
  const Handlers handlers = handlers_that_take();
  const Handlers of_channel = handlers_of_channel();
  TcpPeer peer(handlers);
  Asked asked(peer, of_channel, 4);
  const int first = peer.connect_to(1, &asked.made);
  const Hello again = make_hello(peer.key(), kPeer, 1);
  const int second = peer.dial();
  ASSERT_EQ(::send(second, &again, sizeof again, 0), static_cast<ssize_t>(sizeof again));
  bool closed = false;
  std::byte byte;
  for (const double end = now_seconds() + kLimit; !closed && now_seconds() < end;) {
    peer.transport().progress();
    asked.made->progress();
    const ssize_t got = ::recv(second, &byte, 1, MSG_DONTWAIT);
    closed = got == 0 || (got < 0 && errno == ECONNRESET);
  }
  EXPECT_TRUE(closed);
  EXPECT_EQ(asked.times, 1);
  ::close(first);
  ::close(second);
}

TEST(TcpChannel, AChannelThatIsNotOfferedIsRefused) {
  const Handlers handlers = handlers_that_take();
  const Handlers of_channel = handlers_of_channel();
  TcpPeer peer(handlers);
  Asked asked(peer, of_channel, 4);
  for (const std::uint32_t number : {4U, 1000U, 0x80000000U, 0xffffffffU}) {
    const Hello hello = make_hello(peer.key(), kPeer, number);
    const int made = peer.dial();
    ASSERT_EQ(::send(made, &hello, sizeof hello, 0), static_cast<ssize_t>(sizeof hello));
    EXPECT_TRUE(is_closed(made, peer.transport())) << number;
    ::close(made);
  }
  EXPECT_EQ(asked.made, nullptr);
  // A connection of a process that is not in the job is also closed.
  const Hello stranger = make_hello(peer.key(), 0x80000005, 1);
  const int made = peer.dial();
  ASSERT_EQ(::send(made, &stranger, sizeof stranger, 0), static_cast<ssize_t>(sizeof stranger));
  EXPECT_TRUE(is_closed(made, peer.transport()));
  ::close(made);
  peer.connect();  // the transport itself is still reached
}

}  // namespace
}  // namespace hr::transport::tcp
