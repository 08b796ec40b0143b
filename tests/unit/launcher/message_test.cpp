#include "wire/message.hpp"

#include <gtest/gtest.h>

#include <random>

#include "plan/job_plan.hpp"

namespace hr::launcher {
namespace {

JobPlan some_plan() {
  JobPlan plan;
  plan.id = "headrace_1_2";
  plan.programs = {{2, {"./a", "", "x y"}, {"A=b", "C="}, "/d"}, {1, {"b"}, {}, ""}};
  plan.hosts = {"h1", "h2"};
  plan.root_host = 1;
  plan.host_of = {0, 1, 1};
  plan.directory = "/work";
  plan.search_path = "/bin";
  plan.creation_mask = 027;
  plan.mapping.bind = topo::Level::kNuma;
  plan.mapping.list = {{0, 1}, {7}};
  plan.report_bindings = true;
  plan.keep_going = true;
  plan.foreign_variables = false;
  plan.universe = 12;
  plan.save_counters = true;
  plan.shm_directories = {"/dev/shm", "/x"};
  plan.silence = std::chrono::milliseconds(2500);
  plan.degree = 3;
  plan.shell = {RemoteShell::Kind::kOther, {"my", "shell"}};
  plan.mpiexec = "/bin/mpiexec";
  return plan;
}

// Returns the bytes changed in a few places, cut short, or made longer.
std::string spoilt(std::string bytes, std::mt19937& random) {
  for (std::size_t changes = 1 + random() % 4; changes > 0; --changes) {
    switch (bytes.empty() ? 2 : random() % 4) {
      case 0:
        bytes[random() % bytes.size()] = static_cast<char>(random());
        break;
      case 1:
        bytes.resize(random() % bytes.size());
        break;
      case 2:
        bytes += static_cast<char>(random());
        break;
      default:
        bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    }
  }
  return bytes;
}

TEST(Message, ComesBackAsItWas) {
  const Message sent{.kind = Message::Kind::kEnded,
                     .host = 3,
                     .rank = 70000,
                     .numbers = {-1, 2, -2147483647 - 1, 2147483647},
                     .text = std::string("a\0\n\xff", 4)};
  const auto got = decode(encode(sent));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->kind, sent.kind);
  EXPECT_EQ(got->host, sent.host);
  EXPECT_EQ(got->rank, sent.rank);
  EXPECT_EQ(got->numbers, sent.numbers);
  EXPECT_EQ(got->text, sent.text);
}

TEST(Message, RandomChangesAreSeenOrHarmless) {
  std::mt19937 random(3);
  const std::string good = encode(Message{.kind = Message::Kind::kOutput, .host = 1, .rank = 2, .text = "text"});
  for (int round = 0; round < 20000; ++round) {
    const auto got = decode(spoilt(good, random));
    if (!got) continue;
    EXPECT_LE(got->kind, Message::Kind::kLast);
    EXPECT_GE(got->rank, -1);
    EXPECT_GE(got->host, -1);
  }
  EXPECT_FALSE(decode(""));
  EXPECT_FALSE(decode(good + "x"));
  EXPECT_FALSE(decode(good.substr(1)));
}

TEST(Pairs, AreCutIntoPartsAndComeBack) {
  std::vector<KeyValue> sent;
  for (int number = 0; number < 3000; ++number)
    sent.emplace_back(std::to_string(number), std::string(number % 900, 'v'));
  std::vector<KeyValue> got;
  const std::vector<std::string> parts = pack(sent);
  EXPECT_GT(parts.size(), 2u);
  for (const std::string& part : parts) {
    EXPECT_LT(part.size(), std::size_t{1} << 20);
    ASSERT_TRUE(unpack(part, &got));
  }
  EXPECT_EQ(got, sent);
  EXPECT_TRUE(pack({}).empty());
  EXPECT_FALSE(unpack(parts[0].substr(1), &got));
}

TEST(Pairs, OfEmptyTextsComeBack) {
  const std::vector<KeyValue> sent(2);
  std::vector<KeyValue> got;
  const std::vector<std::string> parts = pack(sent);
  ASSERT_EQ(parts.size(), 1u);
  ASSERT_TRUE(unpack(parts[0], &got));
  EXPECT_EQ(got, sent);
}

TEST(Plan, ComesBackAsItWas) {
  const std::string bytes = encode(some_plan());
  const auto got = decode_plan(bytes);
  ASSERT_TRUE(got);
  EXPECT_EQ(encode(*got), bytes);
  EXPECT_EQ(got->programs[0].arguments, (std::vector<std::string>{"./a", "", "x y"}));
  EXPECT_EQ(got->host_of, (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(got->silence.count(), 2500);
  EXPECT_EQ(got->appnums(), (std::vector<int>{0, 0, 1}));
}

TEST(Plan, ThatDoesNotFitTogetherIsNone) {
  JobPlan plan = some_plan();
  plan.host_of[0] = 2;
  EXPECT_FALSE(decode_plan(encode(plan)));
  plan = some_plan();
  plan.host_of.push_back(0);
  EXPECT_FALSE(decode_plan(encode(plan)));
  plan = some_plan();
  plan.programs[1].arguments.clear();
  EXPECT_FALSE(decode_plan(encode(plan)));
  plan = some_plan();
  plan.id = "../x";
  EXPECT_FALSE(decode_plan(encode(plan)));
}

TEST(Plan, RandomChangesAreSeenOrHarmless) {
  std::mt19937 random(4);
  const std::string good = encode(some_plan());
  for (int round = 0; round < 20000; ++round) {
    const auto got = decode_plan(spoilt(good, random));
    if (!got) continue;
    for (const int host : got->host_of) ASSERT_LT(host, static_cast<int>(got->hosts.size()));
    ASSERT_EQ(got->appnums().size(), got->host_of.size());
    ASSERT_FALSE(got->visible_map().mapping().empty());
  }
}

}  // namespace
}  // namespace hr::launcher
