// A network transport between two endpoints of one process, which a singleton's launcher introduces to each other: the
// one that HEADRACE_NETWORK names, by default TCP.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "boot/boot.hpp"
#include "transport/network/address.hpp"
#include "transport/network/in_order.hpp"
#include "transport/network/sleepers.hpp"
#include "transport/ofi/ofi.hpp"
#include "transport/tcp/tcp.hpp"
#include "transport/ucx/ucx.hpp"

namespace hr::transport {
namespace {

constexpr double kLimit = 20;  // seconds
constexpr std::size_t kKind = 3;

struct Message {
  int from;
  std::uint64_t number;
  std::vector<std::byte> payload;
};

struct Seen {
  std::vector<Message> messages;
  std::vector<int> failed;
  std::string why;
};
std::array<Seen, 2> seen;

template <int kWho>
void take(int from, const Header& header, const std::byte* payload, std::size_t bytes) {
  seen[kWho].messages.push_back({from, header.words[1], {payload, payload + bytes}});
}

template <int kWho>
void fail_path(int proc, Status why) {
  EXPECT_FALSE(why.ok());
  seen[kWho].failed.push_back(proc);
  seen[kWho].why = take_detail();
}

std::byte letter(std::uint64_t number, std::size_t at) { return static_cast<std::byte>(number * 31 + at * 7 + 1); }

Header header(std::uint64_t number) { return {{kKind, number, 0}}; }

const Record& tested() {
  switch (knobs().network) {
    case NetworkChoice::kUcx:
      return ucx::kRecord;
    case NetworkChoice::kOfi:
      return ofi::kRecord;
    default:
      return tcp::kRecord;
  }
}
bool exposes_memory() { return &tested() != &tcp::kRecord; }

class Network : public ::testing::Test {
 protected:
  const std::array<boot::Processes, 2> processes_{boot::Processes{"unit", 0, {0, 1}},
                                                  boot::Processes{"unit", 1, {0, 1}}};

  static void SetUpTestSuite() { ASSERT_TRUE(boot::init().ok()); }

  void SetUp() override {
    // With a launcher, a key can be written only once, but in a singleton repeatedly.
    seen = {};
    handlers_[0].of_kind.fill(take<0>);
    handlers_[1].of_kind.fill(take<1>);
    handlers_[0].failed = fail_path<0>;
    handlers_[1].failed = fail_path<1>;
    for (int rank : {0, 1}) {
      const Job job{rank, 2, processes_[static_cast<std::size_t>(rank)], "unit"};
      const auto at = static_cast<std::size_t>(rank);
      ASSERT_TRUE(tested().create(job, handlers_[at], &sides_[at]).ok());
    }
    for (auto& side : sides_) ASSERT_TRUE(side->open().ok()) << take_detail();
    for (int rank : {0, 1}) ASSERT_TRUE(side(rank).connect(1 - rank).ok()) << take_detail();
  }
  void TearDown() override {
    // Each side waits until the other has received its messages.
    const auto finalize = [](std::unique_ptr<Transport>& side) {
      if (side != nullptr) {
        EXPECT_TRUE(side->finalize().ok());
      }
    };
    std::thread other(finalize, std::ref(sides_[1]));
    finalize(sides_[0]);
    other.join();
  }

  Transport& side(int rank) { return *sides_[static_cast<std::size_t>(rank)]; }
  void progress() {
    for (auto& each : sides_) {
      if (each != nullptr) each->progress();
    }
  }
  template <class Condition>
  bool until(Condition&& condition) {
    const double end = now_seconds() + kLimit;
    while (!condition()) {
      if (now_seconds() > end) return false;
      progress();
    }
    return true;
  }

  // Sends an empty message to the other side. Repeats the call, because a network may refuse it before it is connected.
  bool sent(int from, const Header& header) {
    return until([&] { return side(from).send(1 - from, header, nullptr, 0).ok(); });
  }

  std::array<Handlers, 2> handlers_;
  std::array<std::unique_ptr<Transport>, 2> sides_;
};

// Short messages after long ones overtake them unless the transport restores the order.
TEST_F(Network, MessagesArriveInOrderWhateverTheirSizes) {
  const std::size_t kSizes[] = {side(0).caps(1).max_payload, 0, 8, 40000, 1, 9000, 65000, 100, 2000, 3};
  constexpr std::uint64_t kCount = 500;
  const auto size_of = [&](std::uint64_t number) { return kSizes[number % std::size(kSizes)]; };
  std::vector<std::byte> payload;
  for (int to : {1, 0}) {
    for (std::uint64_t number = 0; number < kCount; ++number) {
      payload.resize(size_of(number));
      for (std::size_t at = 0; at < payload.size(); ++at) payload[at] = letter(number, at);
      Status status;
      ASSERT_TRUE(until([&] {
        status = side(1 - to).send(to, header(number), payload.data(), payload.size());
        return !status.is_again();
      }));
      ASSERT_TRUE(status.ok()) << take_detail();
      std::ranges::fill(payload, std::byte{0xee});  // the payload has been copied
    }
    auto& got = seen[static_cast<std::size_t>(to)].messages;
    ASSERT_TRUE(until([&] { return got.size() == kCount; })) << got.size();
    for (std::uint64_t number = 0; number < kCount; ++number) {
      const Message& message = got[number];
      ASSERT_EQ(message.number, number);
      ASSERT_EQ(message.from, 1 - to);
      ASSERT_EQ(message.payload.size(), size_of(number));
      for (std::size_t at = 0; at < message.payload.size(); ++at) ASSERT_EQ(message.payload[at], letter(number, at));
    }
  }
}

TEST_F(Network, AMessageIsBuiltInPlace) {
  std::byte* slot = nullptr;
  // A network may refuse the reservation before it is connected.
  ASSERT_TRUE(until([&] { return (slot = side(0).reserve(1, 5000)) != nullptr; }));
  // This reservation is replaced by the next one.
  slot = side(0).reserve(1, 60000);
  ASSERT_NE(slot, nullptr);
  for (std::size_t at = 0; at < 60000; ++at) slot[at] = letter(1, at);
  side(0).commit(1, header(7));
  ASSERT_TRUE(until([] { return !seen[1].messages.empty(); }));
  EXPECT_EQ(seen[1].messages[0].number, 7U);
  ASSERT_EQ(seen[1].messages[0].payload.size(), 60000U);
  for (std::size_t at = 0; at < 60000; ++at) ASSERT_EQ(seen[1].messages[0].payload[at], letter(1, at));
}

TEST_F(Network, WhoDoesNotReceiveHoldsTheSenderBack) {
  const std::vector<std::byte> payload(side(0).caps(1).max_payload, std::byte{5});
  std::uint64_t sent = 0;
  Status status;
  // The messages exceed the buffers of any system.
  while (sent < 4096 && (status = side(0).send(1, header(sent), payload.data(), payload.size())).ok()) ++sent;
  ASSERT_TRUE(status.is_again()) << sent;
  EXPECT_EQ(side(0).reserve(1, 8), nullptr);
  ASSERT_TRUE(until([&] { return seen[1].messages.size() == sent; }));
  ASSERT_TRUE(until([&] { return side(0).send(1, header(sent), nullptr, 0).ok(); }));
  ASSERT_TRUE(until([&] { return seen[1].messages.size() == sent + 1; }));
  EXPECT_EQ(seen[1].messages.back().number, sent);
}

RendezvousData rendezvous_in(const Message& message) {
  RendezvousData data;
  std::memcpy(&data, message.payload.data() + message.payload.size() - sizeof data, sizeof data);
  return data;
}

std::vector<std::byte> letters(std::uint64_t number, std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t at = 0; at < bytes; ++at) data[at] = letter(number, at);
  return data;
}

// Ready-to-send messages keep their positions among other messages; the data is fetched in any order.
TEST_F(Network, RtsMessagesKeepTheOrder) {
  constexpr std::uint64_t kCount = 300;
  constexpr std::size_t kLongBytes = 300000;
  std::vector<std::vector<std::byte>> data;
  std::vector<Operation> sends(kCount);
  for (std::uint64_t number = 0; number < kCount; ++number) {
    const std::size_t bytes = number % 3 == 0 ? 40 : number % 3 == 1 ? 30000 + number : kLongBytes;
    data.push_back(letters(number, bytes));
    Status status;
    ASSERT_TRUE(until([&] {
      const auto* const from = data.back().data();
      switch (number % 3) {
        case 0:
          status = side(0).send(1, header(number), from, bytes);
          break;
        case 1:
          status = side(0).send(1, header(number), from, bytes);
          break;
        default:
          status = side(0).send_rts(1, header(number), &number, sizeof number, {from, bytes}, &sends[number]);
      }
      return !status.is_again();
    }));
    ASSERT_TRUE(status.ok()) << take_detail();
  }
  auto& got = seen[1].messages;
  ASSERT_TRUE(until([&] { return got.size() == kCount; })) << got.size();
  std::vector<std::vector<std::byte>> taken(kCount);
  std::vector<Sink> sinks(kCount);
  std::vector<Operation> takes(kCount);
  // The data of the last message is fetched first.
  for (std::uint64_t number = kCount; number-- > 0;) {
    ASSERT_EQ(got[number].number, number);
    if (number % 3 != 2) {
      ASSERT_EQ(got[number].payload, data[number]) << number;
      continue;
    }
    EXPECT_FALSE(sends[number].complete);
    ASSERT_EQ(got[number].payload.size(), sizeof number + sizeof(RendezvousData));
    EXPECT_EQ(std::memcmp(got[number].payload.data(), &number, sizeof number), 0);
    taken[number].assign(kLongBytes + 8, std::byte{0xee});
    sinks[number] = {taken[number].data(), kLongBytes};
    ASSERT_TRUE(side(1).receive_rendezvous(0, rendezvous_in(got[number]), &sinks[number], &takes[number]).ok())
        << take_detail();
  }
  ASSERT_TRUE(until([&] {
    for (std::uint64_t number = 2; number < kCount; number += 3) {
      if (!takes[number].complete || !sends[number].complete) return false;
    }
    return true;
  }));
  for (std::uint64_t number = 2; number < kCount; number += 3) {
    ASSERT_TRUE(takes[number].status.ok() && sends[number].status.ok());
    for (std::size_t at = 0; at < 8; ++at) ASSERT_EQ(taken[number][kLongBytes + at], std::byte{0xee});
    taken[number].resize(kLongBytes);
    ASSERT_EQ(taken[number], data[number]) << number;
  }
}

TEST_F(Network, DataOfARendezvousIsUnpackedPieceByPieceOrDeclined) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{70000}, std::size_t{3} << 20}) {
    const std::vector<std::byte> data = letters(bytes, bytes);
    struct Collecting : Sink {
      std::vector<std::byte> found;
      std::size_t pieces = 0;
      std::size_t got = 0;
    } sink;
    sink.bytes = bytes;
    sink.found.assign(bytes, std::byte{0xee});
    sink.unpack = [](Sink& self, std::size_t offset, const std::byte* from, std::size_t length) {
      auto& into = static_cast<Collecting&>(self);
      std::memcpy(into.found.data() + offset, from, length);
      ++into.pieces;
      into.got += length;
    };
    seen[1].messages.clear();
    Operation sent, taken;
    static int completions;
    completions = 0;
    const auto count = [](Operation&) { ++completions; };
    ASSERT_TRUE(until([&] { return side(0).send_rts(1, header(1), nullptr, 0, {data.data(), bytes}, &sent).ok(); }));
    sent.then = count;
    ASSERT_TRUE(until([] { return !seen[1].messages.empty(); }));
    ASSERT_TRUE(side(1).receive_rendezvous(0, rendezvous_in(seen[1].messages[0]), &sink, &taken).ok());
    taken.then = count;
    ASSERT_TRUE(until([&] { return sent.complete && taken.complete; })) << bytes;
    EXPECT_EQ(completions, 2);
    EXPECT_EQ(sink.got, bytes);
    EXPECT_GE(sink.pieces, bytes > 1000000 ? 2U : 1U);
    ASSERT_EQ(sink.found, data) << bytes;

    seen[1].messages.clear();
    Operation declined;
    ASSERT_TRUE(side(0).send_rts(1, header(2), nullptr, 0, {data.data(), bytes}, &declined).ok());
    ASSERT_TRUE(until([] { return !seen[1].messages.empty(); }));
    EXPECT_FALSE(declined.complete);
    side(1).decline_rendezvous(0, rendezvous_in(seen[1].messages[0]));
    ASSERT_TRUE(until([&] { return declined.complete; }));
  }
}

TEST_F(Network, MemoryOfOthersIsReadAndWritten) {
  if (!exposes_memory()) GTEST_SKIP() << "this transport carries only messages";
  std::vector<std::uint64_t> theirs(20000);
  for (std::size_t i = 0; i < theirs.size(); ++i) theirs[i] = i;
  auto* const base = reinterpret_cast<std::byte*>(theirs.data());
  EXPECT_FALSE(side(0).caps(1).exposed_memory) << "over TCP, unless forced";
  RemoteKey key;
  ASSERT_TRUE(side(1).expose(base, theirs.size() * 8, &key).ok()) << take_detail();
  const auto address = [&](std::size_t at) { return reinterpret_cast<std::uint64_t>(&theirs[at]); };

  std::vector<std::uint64_t> ours(20000, 77);
  const RemotePart parts[] = {{address(100), reinterpret_cast<std::byte*>(ours.data()), 8},
                              {address(0), reinterpret_cast<std::byte*>(&ours[10]), 15000 * 8}};
  Operation read;
  ASSERT_TRUE(side(0).get(1, &key, parts, &read).ok()) << take_detail();
  ASSERT_TRUE(until([&] { return read.complete; }));
  EXPECT_TRUE(read.status.ok());
  EXPECT_EQ(ours[0], 100U);
  EXPECT_EQ(ours[1], 77U);
  for (std::size_t i = 0; i < 15000; ++i) ASSERT_EQ(ours[10 + i], i);

  for (std::size_t i = 0; i < ours.size(); ++i) ours[i] = 1000000 + i;
  const RemotePart all{address(0), reinterpret_cast<std::byte*>(ours.data()), ours.size() * 8};
  Operation written;
  Operation there;
  ASSERT_TRUE(side(0).put(1, &key, {&all, 1}, &written).ok()) << take_detail();
  ASSERT_TRUE(side(0).flush(1, &there).ok());
  ASSERT_TRUE(until([&] { return written.complete && there.complete; }));
  EXPECT_TRUE(written.status.ok() && there.status.ok());
  EXPECT_EQ(theirs, ours);

  const RemotePart nothing{address(0), nullptr, 0};
  Operation empty;
  ASSERT_TRUE(side(0).get(1, &key, {&nothing, 1}, &empty).ok());
  EXPECT_TRUE(empty.complete);
  EXPECT_EQ(side(0).get(1, nullptr, {&all, 1}, nullptr).errc(), Errc::kUnsupportedOperation);
  // An incomplete key is refused, and the path stays open.
  RemoteKey part_of_key = key;
  part_of_key.bytes = 8;
  std::memset(part_of_key.data, 0x5a, 8);  // a number different from the known one
  Operation refused;
  EXPECT_EQ(side(0).put(1, &part_of_key, {&all, 1}, &refused).errc(), Errc::kUnsupportedOperation);
  side(1).withdraw(key);
}

TEST_F(Network, AFlushWaitsUntilThePutsBeforeItHaveArrived) {
  if (!exposes_memory()) GTEST_SKIP() << "this transport carries only messages";
  std::vector<std::uint64_t> theirs(50000);
  RemoteKey key;
  auto* const base = reinterpret_cast<std::byte*>(theirs.data());
  ASSERT_TRUE(side(1).expose(base, theirs.size() * 8, &key).ok()) << take_detail();
  for (std::uint64_t round = 1; round < 4; ++round) {
    std::vector<std::uint64_t> ours(theirs.size(), round);
    const RemotePart short_one{reinterpret_cast<std::uint64_t>(base), reinterpret_cast<std::byte*>(ours.data()), 8};
    const RemotePart all{short_one.address, short_one.local, ours.size() * 8};
    for (const RemotePart& part : {short_one, all}) {
      Operation put;
      Operation flushed;
      ASSERT_TRUE(side(0).put(1, &key, {&part, 1}, &put).ok());
      ASSERT_TRUE(side(0).flush(1, &flushed).ok());
      for (int i = 0; i < 1000; ++i) side(0).progress();
      EXPECT_FALSE(flushed.complete) << "the other side has not made progress";
      ASSERT_TRUE(until([&] { return flushed.complete; }));
      EXPECT_TRUE(put.complete && put.status.ok() && flushed.status.ok());
      EXPECT_EQ(theirs[0], round);
    }
    EXPECT_EQ(theirs, ours);
  }
  side(1).withdraw(key);
}

TEST_F(Network, APeerThatIsGoneIsReportedOnce) {
  ASSERT_TRUE(sent(0, header(1)));
  ASSERT_TRUE(sent(1, header(1)));
  ASSERT_TRUE(until([] { return seen[0].messages.size() == 1 && seen[1].messages.size() == 1; }));
  std::uint64_t theirs = 1;
  std::uint64_t ours = 2;
  RemoteKey key;
  const RemotePart part{reinterpret_cast<std::uint64_t>(&theirs), reinterpret_cast<std::byte*>(&ours), 8};
  if (exposes_memory()) {
    ASSERT_TRUE(side(1).expose(reinterpret_cast<std::byte*>(&theirs), 8, &key).ok());
    Operation read;
    ASSERT_TRUE(side(0).get(1, &key, {&part, 1}, &read).ok());
    ASSERT_TRUE(until([&] { return read.complete; }));
    EXPECT_EQ(ours, 1U);
  }
  // Data that has not been fetched, is being fetched, or is fetched too late.
  std::vector<std::byte> data(std::size_t{64} << 20, std::byte{7});
  std::vector<std::byte> space(data.size(), std::byte{1});
  std::array<Operation, 3> ready, takes;
  std::array<Sink, 3> sinks;
  ASSERT_TRUE(side(0).send_rts(1, header(2), nullptr, 0, {data.data(), data.size()}, &ready[0]).ok());
  ASSERT_TRUE(side(1).send_rts(0, header(3), nullptr, 0, {data.data(), data.size()}, &ready[1]).ok());
  ASSERT_TRUE(side(1).send_rts(0, header(4), nullptr, 0, {data.data(), data.size()}, &ready[2]).ok());
  ASSERT_TRUE(until([] { return seen[0].messages.size() == 3 && seen[1].messages.size() == 2; }));
  const auto take = [&](std::size_t which) {
    sinks[which] = {space.data(), space.size()};
    return side(0).receive_rendezvous(1, rendezvous_in(seen[0].messages[which]), &sinks[which], &takes[which]);
  };
  ASSERT_TRUE(take(1).ok());
  ASSERT_TRUE(until([&] { return space[0] == std::byte{7}; }));  // the fetch has begun
  ASSERT_FALSE(takes[1].complete);
  std::atomic<bool> gone{false};
  std::thread goes([&] {
    EXPECT_TRUE(sides_[1]->finalize().ok());
    gone = true;
  });
  while (!gone) side(0).progress();
  goes.join();
  sides_[1].reset();
  // Operations started now fail at once, or once the failure is detected.
  const auto fails = [&](Status started, const Operation& operation) {
    return !started.ok() || (until([&] { return operation.complete; }) && !operation.status.ok());
  };
  Operation flushed;
  Operation unread;
  const Status flush = side(0).flush(1, &flushed);
  const Status get = side(0).get(1, &key, {&part, 1}, &unread);
  EXPECT_TRUE(!flush.ok() || until([&] { return flushed.complete; })) << "no put is pending, so it may succeed";
  EXPECT_TRUE(fails(get, unread));
  EXPECT_TRUE(fails(kOk, ready[0]));
  // Operations in progress end, with success or failure: the other side flushes before it closes.
  ASSERT_TRUE(until([&] { return takes[1].complete; }));
  if (takes[1].status.ok()) {
    EXPECT_EQ(space, data);
  }
  const Status taken = take(2);
  EXPECT_TRUE(taken.ok()) << "the operation fails, not the call, as long as the failure is not reported";
  EXPECT_TRUE(fails(taken, takes[2]));
  ASSERT_TRUE(until([] { return !seen[0].failed.empty(); }));
  EXPECT_EQ(seen[0].failed, (std::vector<int>{1}));
  EXPECT_NE(seen[0].why.find("process 1"), std::string::npos) << seen[0].why;
  Status status;
  ASSERT_TRUE(until([&] { return !(status = side(0).send(1, header(2), nullptr, 0)).is_again(); }));
  EXPECT_EQ(status.errc(), Errc::kOther);
  take_detail();
  for (int round = 0; round < 1000; ++round) progress();
  EXPECT_EQ(seen[0].failed.size(), 1U);
}

// The sender sends only short messages, and makes no other calls to this peer.
TEST_F(Network, AShortMessageToAPeerThatIsGoneIsRefusedInTheEnd) {
  ASSERT_TRUE(sent(0, header(1)));
  ASSERT_TRUE(sent(1, header(1)));
  ASSERT_TRUE(until([] { return seen[0].messages.size() == 1 && seen[1].messages.size() == 1; }));
  std::atomic<bool> gone{false};
  std::thread goes([&] {
    EXPECT_TRUE(sides_[1]->finalize().ok());
    gone = true;
  });
  while (!gone) side(0).progress();
  goes.join();
  sides_[1].reset();
  const double end = now_seconds() + kLimit;
  Status status = kOk;
  while ((status.ok() || status.is_again()) && now_seconds() < end) {
    status = side(0).send(1, header(2), nullptr, 0);
    if (status.is_again()) side(0).progress();
  }
  EXPECT_EQ(status.errc(), Errc::kOther);
  EXPECT_NE(take_detail().find("process 1"), std::string::npos);
}

TEST_F(Network, ASleeperIsWokenByAMessageAndByOthers) {
  Transport& sleeper = side(0);
  if (!sleeper.can_sleep()) GTEST_SKIP() << "the network tells of no arrivals here";
  const auto armed = [&] {
    std::optional<std::uint32_t> token;
    EXPECT_TRUE(until([&] { return (token = sleeper.arm()).has_value(); }));
    return token.value_or(0);
  };
  double start = now_seconds();
  std::uint32_t token = armed();
  std::thread waker([&] { sleeper.wake(); });
  sleeper.sleep(token, kLimit);
  waker.join();
  EXPECT_LT(now_seconds() - start, kLimit / 2);

  ASSERT_TRUE(sent(1, header(1)));
  ASSERT_TRUE(until([] { return !seen[0].messages.empty(); }));
  start = now_seconds();
  token = armed();
  ASSERT_TRUE(sent(1, header(2)));
  sleeper.sleep(token, kLimit);
  EXPECT_LT(now_seconds() - start, kLimit / 2);
  ASSERT_TRUE(until([] { return seen[0].messages.size() == 2; }));
}

// Returns the number of descriptors for which the system's table of this process's open files has room.
int descriptor_table() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (int size = 0; word == "FDSize:" && status >> size) return size;
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

// Connections of strangers, for example, in a process with threads.
TEST_F(Network, ManyDescriptorsDoNotMakeTheirTableGrow) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_GE(limit.rlim_cur, 512U) << "ulimit -n";
  const int before = descriptor_table();
  ASSERT_GT(before, 0);
  std::vector<int> opened(std::min<std::size_t>(limit.rlim_cur - 256, 3000));
  for (int& each : opened) each = ::eventfd(0, EFD_CLOEXEC);
  const int after = descriptor_table();
  EXPECT_TRUE(std::ranges::none_of(opened, [](int each) { return each < 0; }));
  for (const int each : opened) ::close(each);
  EXPECT_EQ(after, before);
}

TEST(NetworkAddress, SurvivesTheLaunchersAlphabet) {
  for (std::size_t length = 0; length < 70; ++length) {
    std::vector<std::byte> bytes(length);
    for (std::size_t at = 0; at < length; ++at) bytes[at] = static_cast<std::byte>(at * 37 + 250);
    const std::string text = network::encode(bytes);
    EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
              std::string::npos);
    std::vector<std::byte> back;
    ASSERT_TRUE(network::decode(text, &back));
    EXPECT_EQ(back, bytes);
  }
  std::vector<std::byte> ignored;
  EXPECT_FALSE(network::decode("abc=", &ignored));
  EXPECT_FALSE(network::decode("a", &ignored));
}

TEST(NetworkAddress, LongOnesTakeSeveralKeys) {
  ASSERT_TRUE(boot::init().ok());
  std::vector<std::byte> bytes(5000);
  for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<std::byte>(at * 11);
  ASSERT_TRUE(network::publish_address("ucx", 4, bytes, "node17").ok());
  std::vector<std::byte> back;
  std::string host;
  network::Addresses places("ucx", 6);
  ASSERT_TRUE(places.fetch(4, &back, &host).ok()) << take_detail();
  EXPECT_EQ(back, bytes);
  EXPECT_EQ(host, "node17");
  network::Addresses others("tcp", 6);
  EXPECT_FALSE(others.fetch(4, &back, &host).ok());
  EXPECT_NE(take_detail().find("uses the network transport tcp, and rank 4 on host node17 uses ucx"),
            std::string::npos);
  ASSERT_TRUE(boot::put("headrace-network-5-0", "no address").ok());
  EXPECT_FALSE(places.fetch(5, &back, &host).ok());
  EXPECT_NE(take_detail().find("rank 5"), std::string::npos);
}

TEST(NetworkInOrder, EarlyOnesWait) {
  network::InOrder<int> order;
  std::vector<int> out;
  const auto deliver = [&](int& thing) { out.push_back(thing); };
  for (int number : {2, 1, 4, 0, 3, 5})
    EXPECT_TRUE(order.arrive(static_cast<std::uint32_t>(number), int{number}, deliver));
  EXPECT_EQ(out, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(order.early().empty());
}

TEST(NetworkInOrder, WhatHasBeenHereOrIsFarAheadIsRefused) {
  using Order = network::InOrder<int>;
  Order order;
  std::vector<int> out;
  const auto deliver = [&](int& thing) { out.push_back(thing); };
  EXPECT_TRUE(order.arrive(0, 0, deliver));
  EXPECT_TRUE(order.arrive(3, 3, deliver));
  for (const std::uint32_t number : {0U, 3U, 2 + Order::kMostAhead, 0x80000000U, 0xffffffffU})
    EXPECT_FALSE(order.arrive(number, 99, deliver)) << number;
  EXPECT_TRUE(order.arrive(1 + Order::kMostAhead, 100, deliver));
  EXPECT_EQ(order.early().size(), 2U);
  for (const int number : {1, 2}) EXPECT_TRUE(order.arrive(static_cast<std::uint32_t>(number), int{number}, deliver));
  EXPECT_EQ(out, (std::vector<int>{0, 1, 2, 3}));
}

TEST(NetworkAddress, ASecretGoesWithIt) {
  std::vector<std::byte> address(20, std::byte{7});
  const auto bare = address;
  std::uint64_t secret = 0;
  network::append_secret(0x0123456789abcdef, &address);
  ASSERT_TRUE(network::split_secret(&address, &secret));
  EXPECT_EQ(secret, 0x0123456789abcdefU);
  EXPECT_EQ(address, bare);
  for (const std::size_t bytes : {0U, 4U, 8U}) {
    address.resize(bytes);
    EXPECT_FALSE(network::split_secret(&address, &secret));
  }
}

TEST(NetworkSleepers, EveryThreadThatIsArmedIsWoken) {
  network::Sleepers sleepers;
  ASSERT_TRUE(sleepers.open(-1).ok());
  constexpr int kThreads = 4;
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> armed{0};
    std::vector<std::thread> threads;
    const double start = now_seconds();
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        const auto bell = sleepers.arm();
        armed.fetch_add(1);
        sleepers.sleep(bell.value(), kLimit);
        sleepers.disarm(*bell);
      });
    }
    while (armed.load() != kThreads) std::this_thread::yield();
    sleepers.wake();
    for (std::thread& thread : threads) thread.join();
    ASSERT_LT(now_seconds() - start, kLimit / 2);
  }
  // No wake-up remains for the next sleep.
  const auto bell = sleepers.arm();
  const double start = now_seconds();
  sleepers.sleep(bell.value(), 0.01);
  EXPECT_GE(now_seconds() - start, 0.009);
  sleepers.disarm(*bell);
}

TEST(NetworkSleepers, ABellThatIsNotHeardYetKeepsNoOtherThreadAwake) {
  network::Sleepers sleepers;
  ASSERT_TRUE(sleepers.open(-1).ok());
  const auto first = sleepers.arm();
  sleepers.wake();
  const auto second = sleepers.arm();
  const double start = now_seconds();
  sleepers.sleep(second.value(), 0.01);
  EXPECT_GE(now_seconds() - start, 0.009);
  sleepers.disarm(*second);
  sleepers.sleep(first.value(), kLimit);
  EXPECT_LT(now_seconds() - start, kLimit / 2);
  sleepers.disarm(*first);
}

}  // namespace
}  // namespace hr::transport
