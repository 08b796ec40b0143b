// The tuning file: accepted and refused content, messages, and the transfer of rows to other processes.
#include "coll/select/tuning.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "coll/select/tuning_file.hpp"

namespace hr::coll::tuning {
namespace {

const Machine kMachine{"Some CPU", 2, {"NVIDIA H200"}};

const std::string kRows =
    R"([{"operation": "allreduce", "max_bytes": 1024, "max_ranks": 2, "memory": "host", "crowded": false,
         "algorithm": "ring"},
        {"operation": "bcast", "algorithm": "default"}])";

std::string file_with(const std::string& rows, const std::string& machine, const std::string& format = "1",
                      const std::string& version_text = version()) {
  return R"({"format": )" + format + R"(, "version": ")" + version_text + R"(", "date": "2026-11-22T05:50:00Z",)" +
         "\n" + R"("command": "headrace tune", "machine": )" + machine + ",\n" + R"("rows": )" + rows + "}\n";
}
std::string file_with(const std::string& rows) {
  return file_with(rows, R"({"cpu": "Some CPU", "cpus": 2, "gpus": ["NVIDIA H200"]})");
}

// Returns the reason why the text is rejected.
std::string refusal(const std::string& text) {
  std::vector<SelectionRow> rows(7);
  EXPECT_EQ(parse(text, kMachine, &rows), Status(Errc::kArg)) << text;
  EXPECT_EQ(rows.size(), 7u) << "a refused file leaves nothing";
  const std::string why = take_detail();
  EXPECT_FALSE(why.empty());
  return why;
}

#define EXPECT_REFUSED(text, words) EXPECT_NE(refusal(text).find(words), std::string::npos) << refusal(text)

TEST(TuningFileTest, RowsAreTakenAsTheyStand) {
  std::vector<SelectionRow> rows;
  ASSERT_TRUE(parse(file_with(kRows), kMachine, &rows).ok()) << take_detail();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].operation, Operation::kAllreduce);
  EXPECT_EQ(rows[0].max_bytes, 1024u);
  EXPECT_EQ(rows[0].max_ranks, 2);
  EXPECT_EQ(rows[0].memory, SelectionRow::Memory::kHost);
  EXPECT_EQ(rows[0].oversubscribed, SelectionRow::Oversubscribed::kNo);
  EXPECT_EQ(rows[0].algorithm, "ring");
  EXPECT_EQ(rows[1].operation, Operation::kBcast);
  EXPECT_EQ(rows[1].max_bytes, std::numeric_limits<std::size_t>::max());
  EXPECT_EQ(rows[1].max_ranks, std::numeric_limits<int>::max());
  EXPECT_EQ(rows[1].memory, SelectionRow::Memory::kAny);
  EXPECT_EQ(rows[1].oversubscribed, SelectionRow::Oversubscribed::kAny);
  EXPECT_EQ(rows[1].algorithm, "default");
}

// Files of earlier versions contain "crowded".
TEST(TuningFileTest, OversubscribedHasTwoNames) {
  std::vector<SelectionRow> rows;
  const std::string text =
      R"([{"operation": "bcast", "algorithm": "linear", "crowded": true},
          {"operation": "bcast", "algorithm": "linear", "oversubscribed": true},
          {"operation": "bcast", "algorithm": "linear"}])";
  ASSERT_TRUE(parse(file_with(text), kMachine, &rows).ok()) << take_detail();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].oversubscribed, SelectionRow::Oversubscribed::kYes);
  EXPECT_EQ(rows[1].oversubscribed, SelectionRow::Oversubscribed::kYes);
  EXPECT_EQ(rows[2].oversubscribed, SelectionRow::Oversubscribed::kAny);
}

TEST(TuningFileTest, RowsMayAskForHosts) {
  std::vector<SelectionRow> rows;
  const std::string text =
      R"([{"operation": "bcast", "algorithm": "linear", "max_hosts": 1},
          {"operation": "bcast", "algorithm": "linear", "max_hosts": 4, "max_ranks_per_host": 8},
          {"operation": "bcast", "algorithm": "linear"}])";
  ASSERT_TRUE(parse(file_with(text), kMachine, &rows).ok()) << take_detail();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].max_hosts, 1);
  EXPECT_EQ(rows[0].max_ranks_per_host, SelectionRow::kAnyNumber);
  EXPECT_EQ(rows[1].max_hosts, 4);
  EXPECT_EQ(rows[1].max_ranks_per_host, 8);
  EXPECT_EQ(rows[2].max_hosts, SelectionRow::kAnyNumber);
  EXPECT_REFUSED(file_with(R"([{"operation": "bcast", "algorithm": "linear", "max_hosts": 5000000000}])"),
                 "hosts are more than there can be");
}

TEST(TuningFileTest, NoRowsAreGoodToo) {
  std::vector<SelectionRow> rows(3);
  ASSERT_TRUE(parse(file_with("[]"), kMachine, &rows).ok());
  EXPECT_TRUE(rows.empty());
}

TEST(TuningFileTest, WhatIsNoJsonIsNamedByItsLine) {
  EXPECT_REFUSED("", "line 1");
  EXPECT_REFUSED("{\n\"format\": 1,\n}", "line 3");
  EXPECT_REFUSED("rows = 1", "line 1");
  EXPECT_REFUSED(file_with("[1, 2,]"), "line 3");
  EXPECT_REFUSED(std::string("\xff\xfe\0\0", 4), "line 1");
  EXPECT_REFUSED(std::string(100000, '['), "line 1");
  EXPECT_REFUSED(file_with("[1e999]"), "1e999");
  EXPECT_REFUSED(file_with(std::string(100000, '[') + std::string(100000, ']')), "nested");
}

TEST(TuningFileTest, WhatIsNoTuningFileIsRefused) {
  EXPECT_REFUSED("[]", "not an object");
  EXPECT_REFUSED("{}", "\"format\"");
  EXPECT_REFUSED(R"({"format": 1, "colour": "red"})", "colour");
  EXPECT_REFUSED(file_with(kRows, "{}", "2"), "format");
  EXPECT_REFUSED(file_with(kRows, "{}", "\"1\""), "integer");
  EXPECT_REFUSED(file_with("{}"), "list of rows");
  EXPECT_REFUSED(file_with("[3]"), "row 1");
}

TEST(TuningFileTest, AnotherVersionIsRefused) { EXPECT_REFUSED(file_with(kRows, "{}", "1", "0.0.0"), "version 0.0.0"); }

TEST(TuningFileTest, AnotherMachineIsNamed) {
  EXPECT_REFUSED(file_with(kRows, R"({"cpu": "Other CPU", "cpus": 2, "gpus": ["NVIDIA H200"]})"), "Other CPU");
  EXPECT_REFUSED(file_with(kRows, R"({"cpu": "Some CPU", "cpus": 64, "gpus": ["NVIDIA H200"]})"), "64 CPUs");
  EXPECT_REFUSED(file_with(kRows, R"({"cpu": "Some CPU", "cpus": 2, "gpus": []})"), "another machine");
  EXPECT_REFUSED(file_with(kRows, R"({"cpu": "Some CPU", "cpus": 2, "gpus": ["NVIDIA H200", "NVIDIA H200"]})"),
                 "2 x NVIDIA H200");
  EXPECT_REFUSED(file_with(kRows, R"({"cpu": "Some CPU", "cpus": -2, "gpus": []})"), "cpus");
  EXPECT_REFUSED(file_with(kRows, R"({"cpu": "Some CPU", "cpus": 2, "gpus": [7]})"), "GPU");
  EXPECT_REFUSED(file_with(kRows, R"({"cpu": "Some CPU", "cpus": 2})"), "gpus");
}

TEST(TuningFileTest, AWrongRowIsNamedByItsNumber) {
  const std::string good = R"({"operation": "bcast", "algorithm": "linear"}, )";
  const auto second = [&](const std::string& row) { return file_with("[" + good + row + "]"); };
  EXPECT_REFUSED(second(R"({"algorithm": "linear"})"), "row 2: there is no \"operation\"");
  EXPECT_REFUSED(second(R"({"operation": "bcast"})"), "row 2: there is no \"algorithm\"");
  EXPECT_REFUSED(second(R"({"operation": "cast", "algorithm": "linear"})"), "row 2: \"cast\" is not an operation");
  EXPECT_REFUSED(second(R"({"operation": "bcast", "algorithm": "ring"})"),
                 "row 2: \"ring\" is not an algorithm of bcast");
  EXPECT_REFUSED(second(R"({"operation": "bcast", "algorithm": 5})"), "row 2: 5");
  EXPECT_REFUSED(second(R"({"operation": "bcast", "algorithm": "linear", "max_bytes": -1})"), "row 2: -1");
  EXPECT_REFUSED(second(R"({"operation": "bcast", "algorithm": "linear", "max_bytes": 1.5})"), "row 2: 1.5");
  EXPECT_REFUSED(second(R"({"operation": "bcast", "algorithm": "linear", "max_ranks": 3000000000})"), "row 2");
  EXPECT_REFUSED(second(R"({"operation": "bcast", "algorithm": "linear", "memory": "disk"})"), "row 2: \"disk\"");
  EXPECT_REFUSED(second(R"({"operation": "bcast", "algorithm": "linear", "crowded": 1})"), "row 2: 1");
  EXPECT_REFUSED(second(R"({"operation": "bcast", "algorithm": "linear", "maximum": 1})"), "row 2: \"maximum\"");
  EXPECT_REFUSED(second("null"), "row 2 is not an object");
}

TEST(TuningFileTest, EveryTruncationIsRefused) {
  const std::string whole = file_with(kRows);
  const std::size_t end = whole.rfind('}') + 1;
  for (std::size_t length = 0; length < end; ++length) refusal(whole.substr(0, length));
}

// A file with randomly changed bytes is either rejected with a reason or accepted as a whole.
TEST(TuningFileTest, DamagedFilesAreTakenOrRefused) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string whole = file_with(kRows);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = whole;
    for (unsigned change = 0; change <= random() % 4; ++change) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 5);
          break;
        default:
          text.insert(at, whole.substr(random() % whole.size(), random() % 20));
      }
    }
    std::vector<SelectionRow> rows;
    const Status status = parse(text, kMachine, &rows);
    if (status.ok()) {
      for (const SelectionRow& row : rows) {
        EXPECT_TRUE(row.algorithm == kBuiltIn || find_algorithm(row.operation, row.algorithm) != nullptr) << text;
      }
    } else {
      ++refused;
      EXPECT_EQ(status, Status(Errc::kArg));
      EXPECT_FALSE(take_detail().empty()) << text;
      EXPECT_TRUE(rows.empty());
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(TuningRowsTest, TheyComeBackAsTheyWere) {
  std::vector<SelectionRow> rows;
  for (const SelectionRow& row : default_rows()) rows.push_back(row);
  rows.push_back(
      {Operation::kBarrier, 0, 1, SelectionRow::Memory::kDevice, kBuiltIn, SelectionRow::Oversubscribed::kYes});
  rows.push_back(
      {Operation::kBcast, 77, 5, SelectionRow::Memory::kHost, "linear", SelectionRow::Oversubscribed::kNo, 3, 2});
  const std::string text = encode(rows);
  EXPECT_EQ(text.find_first_of(" =;\n"), std::string::npos) << "the launcher's protocol would cut it";
  std::vector<SelectionRow> back(3);
  ASSERT_TRUE(decode(text, &back).ok()) << take_detail();
  ASSERT_EQ(back.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(back[i].operation, rows[i].operation);
    EXPECT_EQ(back[i].max_bytes, rows[i].max_bytes);
    EXPECT_EQ(back[i].max_ranks, rows[i].max_ranks);
    EXPECT_EQ(back[i].memory, rows[i].memory);
    EXPECT_EQ(back[i].oversubscribed, rows[i].oversubscribed);
    EXPECT_EQ(back[i].max_hosts, rows[i].max_hosts);
    EXPECT_EQ(back[i].max_ranks_per_host, rows[i].max_ranks_per_host);
    EXPECT_EQ(back[i].algorithm, rows[i].algorithm);
  }
}

TEST(TuningRowsTest, WhatIsNoRowIsRefused) {
  std::vector<SelectionRow> rows;
  for (const char* text :
       {"bcast", "bcast.1.2.0.0.1.1.nonsense,", "cast.1.2.0.0.1.1.linear,", "bcast.x.2.0.0.1.1.linear,",
        "bcast.1.2.0.0.linear,", "bcast.1.2.3.0.1.1.linear,", "bcast.1.2.0.9.1.1.linear,", ",",
        "bcast.1.99999999999.0.0.1.1.linear,", "bcast.1.2.0.0.99999999999.1.linear,"}) {
    EXPECT_EQ(decode(text, &rows), Status(Errc::kOther)) << text;
    EXPECT_FALSE(take_detail().empty());
  }
}

}  // namespace
}  // namespace hr::coll::tuning
