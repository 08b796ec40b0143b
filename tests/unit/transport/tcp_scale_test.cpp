// Start and first messages of a process over TCP in jobs of up to 10,000, with a launcher and other processes that
// reply as if they existed. Counts messages, bytes and memory. With `--gtest_print_time=0`, this program prints the
// table of docs/performance/hosts.md.
#include <gtest/gtest.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "boot/boot.hpp"
#include "boot/state.hpp"
#include "transport/network/address.hpp"
#include "transport/tcp/frame.hpp"
#include "transport/tcp/handshake.hpp"
#include "transport/tcp/interface.hpp"
#include "transport/tcp/tcp.hpp"

namespace hr::transport::tcp {
namespace {

constexpr int kRanksAHost = 64;
constexpr double kLimit = 60;  // seconds
constexpr std::size_t kKind = 3;
constexpr std::size_t kPayload = 8;

struct Counts {
  std::size_t messages = 0;  // to the launcher, each with a reply
  std::size_t put = 0;       // bytes of keys and values
  std::size_t got = 0;
};

std::size_t in_use() {
  const struct mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// All other processes of the job: they have one address and one key, and answer every Hello.
class Others {
 public:
  Others() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, generic, length), 0);
    EXPECT_EQ(::listen(listener_, 4096), 0);
    EXPECT_EQ(::getsockname(listener_, generic, &length), 0);
    const auto bytes = std::as_bytes(std::span(&address, 1));
    place_.assign(bytes.begin(), bytes.end());
    network::append_port(0, &place_);
    for (const std::uint64_t part : key_) network::append_secret(part, &place_);
  }
  ~Others() {
    for (const int each : sockets_) ::close(each);
    ::close(listener_);
  }
  Others(const Others&) = delete;
  Others& operator=(const Others&) = delete;

  // Returns what process `rank` would publish.
  [[nodiscard]] std::string published(int rank) const {
    std::vector<std::byte> bytes = place_;
    const std::string host = "node" + std::to_string(100000 + rank / kRanksAHost);
    const auto name = std::as_bytes(std::span(host.data(), host.size()));
    bytes.insert(bytes.end(), name.begin(), name.end());
    bytes.push_back(static_cast<std::byte>(host.size()));
    const std::string text = network::encode(bytes);
    return "tcp." + std::to_string(text.size()) + "." + text;
  }

  // Accepts connections and answers them until there are `count`.
  template <class Between>
  void answer(std::size_t count, Between&& between) {
    const double end = now_seconds() + kLimit;
    while (sockets_.size() < count && now_seconds() < end) {
      between();
      pollfd state{listener_, POLLIN, 0};
      if (::poll(&state, 1, 0) != 1) continue;
      const int made = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      ASSERT_GE(made, 0);
      sockets_.push_back(made);
      Hello hello{};
      ASSERT_EQ(::recv(made, &hello, sizeof hello, MSG_WAITALL), static_cast<ssize_t>(sizeof hello));
      ASSERT_TRUE(is_proven(key_, hello));
      const Welcome welcome = make_welcome(key_, hello.challenge);
      ASSERT_EQ(::send(made, &welcome, sizeof welcome, 0), static_cast<ssize_t>(sizeof welcome));
    }
    ASSERT_EQ(sockets_.size(), count);
  }
  // Returns the bytes that one connection has carried, in both directions.
  [[nodiscard]] std::size_t carried() const {
    tcp_info info{};
    socklen_t length = sizeof info;
    EXPECT_EQ(::getsockopt(sockets_.front(), IPPROTO_TCP, TCP_INFO, &info, &length), 0);
    return info.tcpi_bytes_received + info.tcpi_bytes_acked;
  }

 private:
  const Nonce key_{0x0123456789abcdef, 0xfedcba9876543210};
  std::vector<std::byte> place_;
  int listener_ = -1;
  std::vector<int> sockets_;
};

class Launcher final : public boot::Provider {
 public:
  Launcher(int ranks, const Others& others, Counts& counts) : ranks_(ranks), others_(others), counts_(counts) {}
  Status connect(boot::Identity* identity, std::vector<int>* hosts) override {
    identity->rank = 0;
    identity->size = ranks_;
    identity->job_id = "tcp-scale";
    identity->has_launcher = true;
    for (int rank = 0; rank < ranks_; ++rank) hosts->push_back(rank / kRanksAHost);
    return kOk;
  }
  [[nodiscard]] bool names_jobs() const noexcept override { return true; }
  [[nodiscard]] bool can_wait() const noexcept override { return true; }
  Status get_waiting(std::string_view /*key*/, std::string* value) override {
    *value = "1/";
    return kOk;
  }
  Status put(std::string_view key, std::string_view value) override {
    ++counts_.messages;
    counts_.put += key.size() + value.size();
    return kOk;
  }
  Status get(int /*owner*/, std::string_view key, std::string* /*value*/) override {
    ADD_FAILURE() << "a block of addresses answers this: " << key;
    return Errc::kOther;
  }
  Status get_numbered(std::string_view key, int first, int count, std::vector<std::string>* values) override {
    EXPECT_NE(key.find('*'), std::string_view::npos);
    ++counts_.messages;
    values->clear();
    for (int rank = first; rank < first + count; ++rank) {
      values->push_back(others_.published(rank));
      counts_.got += values->back().size();
    }
    return kOk;
  }
  Status fence() override {
    ++counts_.messages;
    return kOk;
  }
  Status finalize() override { return kOk; }
  void abort(int) noexcept override {}

 private:
  int ranks_;
  const Others& others_;
  Counts& counts_;
};

void ignore(int, const Header&, const std::byte*, std::size_t) {}

// Counts and memory of one process.
struct Took {
  Counts start;
  std::size_t kept_at_start = 0;  // bytes of memory
  Counts first;                   // requests for addresses by the first messages
  std::size_t kept_for_all = 0;
  std::size_t carried = 0;  // bytes on one connection
};

// Starts process 0, and sends a message to the first process of each of `hosts` other hosts.
Took start(int ranks, int hosts) {
  Others others;
  Counts counts;
  Took took;
  EXPECT_TRUE(boot::init_with(std::make_unique<Launcher>(ranks, others, counts), "mock", {}).ok()) << take_detail();
  Handlers handlers;
  handlers.of_kind.fill(ignore);
  const Job job{.rank = 0, .size = ranks, .processes = boot::processes(), .job_id = "tcp-scale"};
  counts = {};
  const std::size_t before = in_use();
  std::unique_ptr<Transport> transport;
  EXPECT_TRUE(kRecord.create(job, handlers, &transport).ok() && boot::fence().ok() && transport->open().ok())
      << take_detail();
  took.kept_at_start = in_use() - before;
  took.start = std::exchange(counts, {});
  const std::size_t started = in_use();
  for (int host = 1; host <= hosts; ++host) EXPECT_TRUE(transport->connect(host * kRanksAHost).ok()) << take_detail();
  others.answer(static_cast<std::size_t>(hosts), [&] { transport->progress(); });
  const std::vector<std::byte> payload(kPayload);
  for (int host = 1; host <= hosts; ++host) {
    const double end = now_seconds() + kLimit;
    while (now_seconds() < end) {
      if (transport->send(host * kRanksAHost, {{kKind, 0, 0}}, payload.data(), payload.size()).ok()) break;
      transport->progress();
    }
    EXPECT_LT(now_seconds(), end) << "no room for a message to host " << host;
  }
  took.kept_for_all = in_use() - started;
  took.first = counts;
  if (hosts != 0) took.carried = others.carried();
  transport.reset();
  EXPECT_TRUE(boot::finalize().ok());
  return took;
}

TEST(TcpScale, WhatAStartAndFirstMessagesTake) {
  std::printf(
      "| ranks x hosts | published by a rank, by all | memory of a rank after the start | connections of a leader in a "
      "barrier, in an alltoall | of all, in an alltoall | address requests of a leader, bytes | of all | bytes on a "
      "connection | memory of a leader after the alltoall |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const int ranks : {128, 1024, 10048}) {
    const int hosts = ranks / kRanksAHost;
    const Took took = start(ranks, hosts - 1);
    int rounds = 0;  // of a dissemination among the hosts
    while (1 << rounds < hosts) ++rounds;
    const auto all = static_cast<std::size_t>(hosts);
    std::printf("| %d x %d | %zu B, %zu KB | %.1f KB | %d, %d | %d | %zu, %zu KB | %zu, %.1f MB | %zu B | %.1f KB |\n",
                ranks, hosts, took.start.put, took.start.put * static_cast<std::size_t>(ranks) / 1000,
                static_cast<double>(took.kept_at_start) / 1000, rounds, hosts - 1, hosts * (hosts - 1) / 2,
                took.first.messages, took.first.got / 1000, took.first.messages * all,
                static_cast<double>(took.first.got * all) / 1e6, took.carried,
                static_cast<double>(took.kept_at_start + took.kept_for_all) / 1000);
    // A start takes the same messages however many processes there are; up to 128 processes get all addresses at once.
    EXPECT_EQ(took.start.messages, ranks <= 128 ? 4U : 3U);
    EXPECT_LE(took.start.put, 150U);
    EXPECT_EQ(took.first.messages, ranks <= 128 ? 0U : static_cast<std::size_t>((ranks + 127) / 128));
    EXPECT_EQ(took.carried, sizeof(Hello) + sizeof(Welcome) + sizeof(FrameHead) + kPayload);
    // Tables of all processes, and the peers that the process communicates with.
    EXPECT_LE(took.kept_at_start, 64U * static_cast<std::size_t>(ranks) + 65536U);
    EXPECT_LE(took.kept_for_all,
              2048U * static_cast<std::size_t>(hosts) + 256U * static_cast<std::size_t>(ranks) + 65536U);
  }
}

// Checks that the memory for each peer does not depend on the size of the job.
TEST(TcpScale, MemoryOfAConnection) {
  const Took few = start(10048, 20);
  const Took many = start(10048, 120);
  const std::size_t addresses = (many.first.got - few.first.got);
  EXPECT_LE(many.kept_for_all - few.kept_for_all, 100 * 2048U + 2 * addresses);
}

}  // namespace
}  // namespace hr::transport::tcp
