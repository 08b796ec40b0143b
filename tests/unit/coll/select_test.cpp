// The selection table, and the registry of algorithms that it names.
#include "coll/select.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/knobs.hpp"
#include "boot/boot.hpp"
#include "coll/plans.hpp"
#include "coll/select/tuning.hpp"
#include "coll/state.hpp"
#include "recorded_costs.hpp"

namespace hr::coll {
namespace {

std::vector<SelectionRow> rows_of_job;
constexpr boot::Setting kRowsOfJob{tuning::kSetting.name, [] { return tuning::encode(rows_of_job); }};

class SelectTest : public ::testing::Test {
 protected:
  void SetUp() override { begin_job({}); }
  void TearDown() override {
    ASSERT_TRUE(set_knob("coll_force", ""));
    begin_job({});
  }

  // Begins a job of this process whose tuning file has these rows.
  static void begin_job(std::span<const SelectionRow> rows) {
    rows_of_job.assign(rows.begin(), rows.end());
    ASSERT_TRUE(boot::init({&kRowsOfJob, 1}).ok()) << take_detail();
    state().selection.reset();
  }
};

Query query(Operation operation, std::size_t bytes, int ranks) {
  Query made;
  made.operation = operation;
  made.bytes = bytes;
  made.ranks = ranks;
  return made;
}

std::string chosen(const Query& made) {
  const Algorithm* algorithm = select(made);
  return algorithm == nullptr ? "" : algorithm->name;
}

TEST_F(SelectTest, EveryRowNamesAnAlgorithmOfItsOperation) {
  for (const SelectionRow& row : default_rows()) {
    EXPECT_NE(find_algorithm(row.operation, row.algorithm), nullptr) << name(row.operation) << ' ' << row.algorithm;
  }
}

TEST_F(SelectTest, EveryOperationEndsWithARowForAllSizes) {
  std::set<Operation> covered;
  for (const SelectionRow& row : default_rows()) {
    const bool all = row.max_bytes == static_cast<std::size_t>(-1) && row.max_ranks == 0x7fffffff &&
                     row.max_hosts == SelectionRow::kAnyNumber && row.max_ranks_per_host == SelectionRow::kAnyNumber &&
                     find_algorithm(row.operation, row.algorithm)->probe(query(row.operation, 8, 2));
    EXPECT_FALSE(covered.contains(row.operation)) << name(row.operation) << ": a row after one that covers all";
    if (all) covered.insert(row.operation);
  }
  EXPECT_EQ(covered.size(), static_cast<std::size_t>(kOperations));
}

TEST_F(SelectTest, NamesAreUniqueWithinAnOperation) {
  std::set<std::string> names;
  for (const Algorithm* algorithm : algorithms()) {
    for (int i = 0; i < kOperations; ++i) {
      const auto operation = static_cast<Operation>(i);
      if ((algorithm->operations & serves(operation)) == 0) continue;
      EXPECT_TRUE(names.insert(std::string(name(operation)) + ':' + algorithm->name).second) << algorithm->name;
    }
  }
}

// Every query that a process can make has an algorithm.
TEST_F(SelectTest, EveryQueryIsServed) {
  for (int i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    const bool neighborhood = operation >= Operation::kNeighborAllgather;
    const bool scan = operation == Operation::kScan || operation == Operation::kExscan;
    for (const std::size_t bytes : {0, 1, 4096, 1 << 30}) {
      for (const int ranks : {1, 2, 7, 4096}) {
        for (const bool commutative : {false, true}) {
          for (const bool inter : {false, true}) {
            for (const bool in_place : {false, true}) {
              if (inter && (in_place || neighborhood || scan)) continue;
              Query made = query(operation, bytes, ranks);
              made.commutative = commutative;
              made.inter = inter;
              made.in_place = in_place;
              const Algorithm* algorithm = select(made);
              ASSERT_NE(algorithm, nullptr) << name(operation) << ' ' << bytes << ' ' << ranks;
              EXPECT_TRUE(algorithm->probe(made));
            }
          }
        }
      }
    }
  }
}

TEST_F(SelectTest, TheTableChoosesBySizeAndRanks) {
  EXPECT_EQ(chosen(query(Operation::kAllreduce, 8, 4)), "recursive_doubling");
  EXPECT_EQ(chosen(query(Operation::kAllreduce, 1 << 20, 4)), "ring");
  EXPECT_EQ(chosen(query(Operation::kBcast, 1 << 20, 2)), "binomial");
  EXPECT_EQ(chosen(query(Operation::kBcast, 1 << 20, 3)), "scatter_ring");
}

TEST_F(SelectTest, SharedMemoryIsUsedWhereThereIsAny) {
  Query made = query(Operation::kAllreduce, 8, 4);
  made.span = 8;
  for (const Sharing sharing : {Sharing::kFlagLines, Sharing::kDataSlots}) {
    made.sharing = sharing;
    EXPECT_EQ(chosen(made), "cells");
  }
  made.span = made.element = 1 << 20;  // the type has holes
  EXPECT_EQ(chosen(made), "recursive_doubling");
}

TEST_F(SelectTest, ARowWhoseProbeFailsIsPassedOver) {
  Query made = query(Operation::kAllreduce, 1 << 20, 4);
  made.commutative = false;
  EXPECT_EQ(chosen(made), "recursive_doubling");
  made.inter = true;
  EXPECT_EQ(chosen(made), "linear");
}

TEST_F(SelectTest, TheKnobGoesBeforeTheTable) {
  ASSERT_TRUE(set_knob("coll_force", "allreduce:linear,bcast:scatter_ring"));
  begin_job({});
  EXPECT_EQ(chosen(query(Operation::kAllreduce, 8, 4)), "linear");
  EXPECT_EQ(chosen(query(Operation::kBcast, 8, 2)), "scatter_ring");
  EXPECT_EQ(chosen(query(Operation::kAllgather, 8, 2)), "bruck");
}

TEST_F(SelectTest, AForcedAlgorithmThatDoesNotApplyIsPassedOver) {
  ASSERT_TRUE(set_knob("coll_force", "allreduce:ring"));
  begin_job({});
  Query made = query(Operation::kAllreduce, 8, 4);
  made.commutative = false;
  EXPECT_EQ(chosen(made), "recursive_doubling");
}

TEST_F(SelectTest, AWrongEntryOfTheKnobIsNamed) {
  ASSERT_TRUE(set_knob("coll_force", "allreduce:nonsense,bcast:linear"));
  begin_job({});
  testing::internal::CaptureStderr();
  EXPECT_EQ(chosen(query(Operation::kBcast, 8, 2)), "linear");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("allreduce:nonsense"), std::string::npos);
}

TEST_F(SelectTest, TunedRowsGoBeforeTheDefaultOnes) {
  const SelectionRow rows[] = {
      {Operation::kAllreduce, 100, 8, SelectionRow::Memory::kAny, "ring"},
      {Operation::kBcast, static_cast<std::size_t>(-1), 8, SelectionRow::Memory::kDevice, "linear"},
  };
  begin_job(rows);
  EXPECT_EQ(chosen(query(Operation::kAllreduce, 100, 8)), "ring");
  EXPECT_EQ(chosen(query(Operation::kAllreduce, 101, 8)), "recursive_doubling");
  EXPECT_EQ(chosen(query(Operation::kAllreduce, 100, 9)), "recursive_doubling");
  Query made = query(Operation::kBcast, 8, 4);
  EXPECT_EQ(chosen(made), "binomial");
  made.devices = true;
  EXPECT_EQ(chosen(made), "linear");
}

// A row was measured under its conditions and does not apply under others.
TEST_F(SelectTest, TheFirstTunedRowThatCoversDecides) {
  const SelectionRow rows[] = {
      {Operation::kAllreduce, 64, 8, SelectionRow::Memory::kAny, "default"},
      {Operation::kAllreduce, 128, 8, SelectionRow::Memory::kAny, "cells"},  // not applicable without shared memory
      {Operation::kAllreduce, 256, 8, SelectionRow::Memory::kAny, "ring"},
  };
  begin_job(rows);
  EXPECT_EQ(chosen(query(Operation::kAllreduce, 64, 8)), "recursive_doubling");
  EXPECT_EQ(chosen(query(Operation::kAllreduce, 128, 8)), "recursive_doubling");
  EXPECT_EQ(chosen(query(Operation::kAllreduce, 256, 8)), "ring");
}

TEST_F(SelectTest, TunedRowsAskWhetherProcessesOutnumberTheCores) {
  using Oversubscribed = SelectionRow::Oversubscribed;
  const SelectionRow rows[] = {
      {Operation::kAllreduce, 64, 8, SelectionRow::Memory::kAny, "ring", Oversubscribed::kYes},
      {Operation::kAllreduce, 64, 8, SelectionRow::Memory::kAny, "linear", Oversubscribed::kNo},
  };
  begin_job(rows);
  Query made = query(Operation::kAllreduce, 64, 8);
  EXPECT_EQ(chosen(made), "linear");
  made.oversubscribed = true;
  EXPECT_EQ(chosen(made), "ring");
}

// Long vectors use a ring of slots; on shared cores, from 128 KiB on.
TEST_F(SelectTest, LongVectors) {
  Query made = query(Operation::kAllreduce, 1 << 20, 8);
  made.element = 4;
  made.sharing = Sharing::kDataSlots;
  made.data_slot_bytes = 131072;
  for (const bool oversubscribed : {false, true}) {
    made.oversubscribed = oversubscribed;
    for (const Operation operation :
         {Operation::kAllreduce, Operation::kReduceScatter, Operation::kReduceScatterBlock, Operation::kReduce}) {
      made.operation = operation;
      EXPECT_EQ(chosen(made), "slots_ring");
    }
  }
  made.bytes = 131072;
  EXPECT_EQ(chosen(made), "slots");
  made.oversubscribed = false;
  EXPECT_EQ(chosen(made), "slots_ring");
}

// For processes with a core each: short vectors are reduced in steps if there are many processes, and longer vectors
// through slots.
TEST_F(SelectTest, ShortVectorsOfProcessesWithCoresOfTheirOwn) {
  Query made = query(Operation::kAllreduce, 0, 0);
  made.element = 4;
  made.sharing = Sharing::kDataSlots;
  made.data_slot_bytes = 65536;
  const auto of = [&](Operation operation, int ranks, std::size_t bytes) {
    made.operation = operation;
    made.ranks = ranks;
    made.bytes = made.span = bytes;
    return chosen(made);
  };
  EXPECT_EQ(of(Operation::kAllreduce, 16, 8), "cells");
  EXPECT_EQ(of(Operation::kAllreduce, 32, 8), "cells_doubling");
  EXPECT_EQ(of(Operation::kAllreduce, 4, 4096), "cells");
  EXPECT_EQ(of(Operation::kAllreduce, 8, 4096), "cells_doubling");
  EXPECT_EQ(of(Operation::kAllreduce, 8, 8192), "slots_ring");
  EXPECT_EQ(of(Operation::kAllreduce, 16, 4096), "slots");
  EXPECT_EQ(of(Operation::kReduce, 4, 8192), "cells");
  EXPECT_EQ(of(Operation::kReduce, 8, 8192), "slots_ring");
  EXPECT_EQ(of(Operation::kReduce, 16, 2048), "cells_binomial");
  EXPECT_EQ(of(Operation::kReduce, 16, 8192), "slots");
  EXPECT_EQ(of(Operation::kReduce, 32, 8192), "cells_binomial");
  EXPECT_EQ(of(Operation::kReduce, 64, 16384), "slots");
  EXPECT_EQ(of(Operation::kReduce, 64, 16385), "slots_ring");
  EXPECT_EQ(of(Operation::kAllreduce, 64, 8192), "slots");
  EXPECT_EQ(of(Operation::kBarrier, 48, 0), "cells");
  EXPECT_EQ(of(Operation::kBarrier, 64, 0), "cells_dissemination");
  made.commutative = false;  // algorithms that use slots do not apply
  EXPECT_EQ(of(Operation::kAllreduce, 16, 4096), "cells");
  EXPECT_EQ(of(Operation::kReduce, 8, 8192), "cells_binomial");
  made.commutative = made.oversubscribed = true;
  EXPECT_EQ(of(Operation::kAllreduce, 32, 4096), "cells_root");
  EXPECT_EQ(of(Operation::kReduce, 8, 8192), "cells");
}

// Partial results need flags and space for all steps.
TEST_F(SelectTest, PartialsHaveTheirLimits) {
  const Algorithm* doubling = find_algorithm(Operation::kAllreduce, "cells_doubling");
  const Algorithm* binomial = find_algorithm(Operation::kReduce, "cells_binomial");
  ASSERT_NE(doubling, nullptr);
  ASSERT_NE(binomial, nullptr);
  Query made = query(Operation::kAllreduce, 64, 128);
  made.sharing = Sharing::kFlagLines;
  made.span = 64;
  EXPECT_TRUE(doubling->probe(made));
  made.ranks = 512;
  EXPECT_TRUE(binomial->probe(made));
  made.ranks = 255;  // the first ranks work in pairs, which takes two additional steps
  EXPECT_TRUE(doubling->probe(made));
  made.ranks = 513;
  EXPECT_FALSE(doubling->probe(made));
  EXPECT_FALSE(binomial->probe(made));
  made.ranks = 8;
  made.span = 4096;
  EXPECT_TRUE(doubling->probe(made));
  made.span = 8192;
  EXPECT_FALSE(doubling->probe(made));
  EXPECT_TRUE(binomial->probe(made));
  made.span = 8193;
  EXPECT_FALSE(binomial->probe(made));
}

TEST_F(SelectTest, LongOnesOfTwo) {
  Query made = query(Operation::kBcast, 65536, 2);
  made.sharing = Sharing::kDataSlots;
  made.data_slot_bytes = 65536;
  made.element = 4;
  EXPECT_EQ(chosen(made), "slots");
  made.bytes = 4096;
  EXPECT_EQ(chosen(made), "cells");
  made.operation = Operation::kReduce;
  EXPECT_EQ(chosen(made), "cells");
  made.bytes = 4097;
  EXPECT_EQ(chosen(made), "slots_pair");
  made.operation = Operation::kAllreduce;
  made.bytes = 1 << 20;
  EXPECT_EQ(chosen(made), "slots_ring");
}

TEST_F(SelectTest, BlocksLongerThanACellGoThroughSlots) {
  for (const Operation operation : {Operation::kAllgather, Operation::kAlltoall}) {
    Query made = query(operation, 16384, 2);
    made.sharing = Sharing::kDataSlots;
    made.data_slot_bytes = 65536;
    EXPECT_EQ(chosen(made), "cells");
    made.bytes = 16385;
    EXPECT_EQ(chosen(made), "slots");
    made.ranks = 24;
    EXPECT_EQ(chosen(made), "slots");
    made.ranks = 33;
    made.oversubscribed = true;
    EXPECT_EQ(chosen(made), operation == Operation::kAllgather ? "ring" : "pairwise");
  }
}

// With many processes, each reads long blocks from the owners' buffers instead of slots that all of them fill.
TEST_F(SelectTest, BlocksOfMany) {
  Query made = query(Operation::kAlltoall, 64, 64);
  made.sharing = Sharing::kDataSlots;
  made.data_slot_bytes = 65536;
  EXPECT_EQ(chosen(made), "cells");
  made.bytes = 4096;
  EXPECT_EQ(chosen(made), "slots");
  made.bytes = 4097;
  EXPECT_EQ(chosen(made), "pairwise");
  made.bytes = 16384;
  EXPECT_EQ(chosen(made), "linear");
  made.in_place = true;
  EXPECT_EQ(chosen(made), "slots");
  made.operation = Operation::kAllgather;
  made.in_place = false;
  made.bytes = 256;
  EXPECT_EQ(chosen(made), "cells");
  made.bytes = 257;
  EXPECT_EQ(chosen(made), "slots");
}

// Returns the cost of the selected algorithm on n ranks, according to the record of the nearest number of ranks.
double cost_of(const RecordedCosts& record, const RecordedNames& names, const Query& made) {
  const std::string name = chosen(made);
  const auto* at = std::find_if(names.names.begin(), names.names.end(),
                                [&name](const char* each) { return each != nullptr && name == each; });
  return at == names.names.end() ? 0 : record.us[static_cast<std::size_t>(at - names.names.begin())];
}

// For ranks with a core each, on either side of each number of ranks at which a row ends, no choice takes much longer
// than the best recorded one.
TEST_F(SelectTest, NoChoiceIsFarFromTheBestOnes) {
  constexpr double kFactor = 1.5;
  std::set<int> limits{32, 33, 48, 64};
  for (const SelectionRow& row : default_rows()) limits.insert(row.max_ranks);
  for (const RecordedCosts& record : kRecordedCosts) {
    const RecordedNames& names = *std::find_if(std::begin(kRecordedNames), std::end(kRecordedNames),
                                               [&](const auto& each) { return each.operation == record.operation; });
    double best = 0;
    for (const double us : record.us) best = us != 0 && (best == 0 || us < best) ? us : best;
    const bool blocks = record.operation == Operation::kAllgather || record.operation == Operation::kAlltoall ||
                        record.operation == Operation::kGather || record.operation == Operation::kScatter;
    for (const int limit : limits) {
      for (const int ranks : {limit - 1, limit, limit == 0x7fffffff ? limit : limit + 1}) {
        if (ranks < record.ranks - 5 || ranks > record.ranks + 5) continue;
        const auto count = static_cast<std::size_t>(ranks);
        Query made = query(record.operation, blocks ? (record.bytes + count - 1) / count : record.bytes, ranks);
        made.span = made.bytes;
        made.element = 4;
        made.ranks_per_host = ranks;
        made.sharing = Sharing::kDataSlots;
        made.data_slot_bytes = 65536;
        const double cost = cost_of(record, names, made);
        EXPECT_GT(cost, 0) << name(record.operation) << ' ' << record.bytes << ' ' << ranks << ": " << chosen(made);
        EXPECT_LE(cost, kFactor * best) << name(record.operation) << ", " << record.bytes << " bytes, " << ranks
                                        << " ranks: " << chosen(made);
      }
    }
  }
}

// Returns the recorded cost of an algorithm on n ranks, between the records of fewer and of more ranks; 0 if it was not
// measured.
double recorded_cost(Operation operation, std::size_t bytes, int ranks, const std::string& algorithm) {
  const RecordedNames& names = *std::find_if(std::begin(kRecordedNames), std::end(kRecordedNames),
                                             [&](const auto& each) { return each.operation == operation; });
  std::size_t at = 0;
  while (at < names.names.size() && (names.names[at] == nullptr || algorithm != names.names[at])) ++at;
  if (at == names.names.size()) return 0;
  const RecordedCosts* below = nullptr;
  const RecordedCosts* above = nullptr;
  for (const RecordedCosts& record : kRecordedCosts) {
    if (record.operation != operation || record.bytes != bytes || record.us[at] == 0) continue;
    if (record.ranks <= ranks && (below == nullptr || record.ranks > below->ranks)) below = &record;
    if (record.ranks >= ranks && (above == nullptr || record.ranks < above->ranks)) above = &record;
  }
  if (below == nullptr || above == nullptr || below == above) {
    const RecordedCosts* const nearest = below != nullptr ? below : above;
    return nearest != nullptr ? nearest->us[at] : 0;
  }
  const double part = static_cast<double>(ranks - below->ranks) / (above->ranks - below->ranks);
  return below->us[at] + part * (above->us[at] - below->us[at]);
}

// No cliffs: with ranks that have a core each, an operation on n + 1 ranks takes about as long as on n, whichever side
// of the limit of a row they are on. Sizes are those of the larger buffer, so the growth of n explains nothing.
TEST_F(SelectTest, OneMoreRankMakesNoCliff) {
  constexpr double kFactor = 1.5;
  int limits = 0;
  for (const RecordedCosts& record : kRecordedCosts) {
    if (record.ranks != kRecordedCosts[0].ranks) continue;  // each operation and size once
    const bool blocks = record.operation == Operation::kAllgather || record.operation == Operation::kAlltoall ||
                        record.operation == Operation::kGather || record.operation == Operation::kScatter;
    std::string last;
    double before = 0;
    for (int ranks = 31; ranks <= 66; ++ranks) {
      const auto count = static_cast<std::size_t>(ranks);
      Query made = query(record.operation, blocks ? (record.bytes + count - 1) / count : record.bytes, ranks);
      made.span = made.bytes;
      made.element = 4;
      made.ranks_per_host = ranks;
      made.sharing = Sharing::kDataSlots;
      made.data_slot_bytes = 65536;
      const std::string algorithm = chosen(made);
      const double cost = recorded_cost(record.operation, record.bytes, ranks, algorithm);
      const std::string what = std::string(name(record.operation)) + ", " + std::to_string(record.bytes) + " bytes, " +
                               std::to_string(ranks) + " ranks: " + last + " to " + algorithm;
      EXPECT_GT(cost, 0) << what;
      if (before != 0) {
        EXPECT_LE(cost, kFactor * before) << what;
        EXPECT_LE(before, kFactor * cost) << what;
      }
      limits += !last.empty() && algorithm != last ? 1 : 0;
      last = algorithm;
      before = cost;
    }
  }
  EXPECT_GT(limits, 0) << "no row ends between 31 and 66 ranks";
}

// On several hosts, some with several processes, operations are composed of levels if the order of operands allows
// that.
TEST_F(SelectTest, OverHosts) {
  Query made = query(Operation::kAllreduce, 8, 4);
  made.hosts = 2;
  made.ranks_per_host = 2;
  EXPECT_EQ(chosen(made), "hosts");
  made.hosts_in_order = false;
  EXPECT_EQ(chosen(made), "hosts");
  made.commutative = false;
  EXPECT_EQ(chosen(made), "recursive_doubling");
  made.hosts_in_order = true;
  EXPECT_EQ(chosen(made), "hosts");
  for (const Operation operation :
       {Operation::kBarrier, Operation::kBcast, Operation::kGather, Operation::kAllgather, Operation::kReduce}) {
    made.operation = operation;
    EXPECT_EQ(chosen(made), "hosts") << name(operation);
  }
  made.ranks_per_host = 1;  // there is nothing to compose
  EXPECT_EQ(chosen(made), "binomial");
  made.hosts = 1;
  EXPECT_EQ(chosen(made), "binomial");
}

// Choices of the built-in rows between hosts, and for operations whose composition does not always pay.
TEST_F(SelectTest, BetweenHosts) {
  Query made = query(Operation::kAllreduce, 1 << 20, 2);
  made.hosts = 2;
  EXPECT_EQ(chosen(made), "recursive_doubling");
  made.ranks = made.hosts = 4;
  made.bytes = 32768;
  EXPECT_EQ(chosen(made), "recursive_doubling");
  made.bytes = 524288;
  EXPECT_EQ(chosen(made), "rabenseifner");
  made.bytes = 524289;
  EXPECT_EQ(chosen(made), "ring");
  made = query(Operation::kAlltoall, 512, 8);
  made.hosts = 2;
  made.ranks_per_host = 4;
  EXPECT_EQ(chosen(made), "hosts");
  made.bytes = 513;
  EXPECT_EQ(chosen(made), "linear");
  made.ranks = 16;
  made.ranks_per_host = 8;
  made.bytes = 4096;
  EXPECT_EQ(chosen(made), "hosts");
  made.bytes = 4097;
  EXPECT_EQ(chosen(made), "linear");
  made.ranks = 33;
  EXPECT_EQ(chosen(made), "pairwise");
}

// Rows with conditions on hosts and on ranks of one host.
TEST_F(SelectTest, HostsAndRanksPerHostAreAskedFor) {
  SelectionRow one_host{Operation::kAllreduce, 100, 8, SelectionRow::Memory::kAny, "linear"};
  one_host.max_hosts = 1;
  SelectionRow few_on_each{Operation::kAllreduce, 100, 8, SelectionRow::Memory::kAny, "ring"};
  few_on_each.max_ranks_per_host = 3;
  const SelectionRow rows[] = {one_host, few_on_each};
  begin_job(rows);
  Query made = query(Operation::kAllreduce, 8, 4);
  made.ranks_per_host = 4;
  EXPECT_EQ(chosen(made), "linear");
  made.hosts = 2;
  EXPECT_EQ(chosen(made), "hosts");
  made.ranks_per_host = 3;
  EXPECT_EQ(chosen(made), "ring");
}

// A plan is found only under its own key.
TEST_F(SelectTest, PlansOfOtherCallsAreNotTaken) {
  Plans plans;
  PlanKey key{.bytes = 8, .span = 8, .element = 4, .kind = 12u << 8};
  EXPECT_EQ(plans.find(key), nullptr);
  const Algorithm* ring = find_algorithm(Operation::kAllreduce, "ring");
  plans.keep(key, ring);
  EXPECT_EQ(plans.find(key), ring);
  PlanKey other = key;
  other.bytes = 9;  // in the same size class
  EXPECT_EQ(plans.find(other), nullptr);
  plans.clear();
  EXPECT_EQ(plans.find(key), nullptr);
}

TEST_F(SelectTest, RowsForTheHostLeaveTheDevicesAlone) {
  const SelectionRow rows[] = {{Operation::kAllreduce, 64, 8, SelectionRow::Memory::kHost, "ring"}};
  begin_job(rows);
  Query made = query(Operation::kAllreduce, 64, 8);
  EXPECT_EQ(chosen(made), "ring");
  made.devices = true;
  EXPECT_EQ(chosen(made), "device_pull");
}

}  // namespace
}  // namespace hr::coll
