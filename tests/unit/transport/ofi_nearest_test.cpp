#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "transport/ofi/nearest.hpp"

namespace hr::transport::ofi {
namespace {

using Order = std::vector<std::size_t>;

// A machine with two NUMA domains of eight CPUs, and two cards near each.
class Nearest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "/nearest";
    for (std::size_t i = 0; i < cards_.size(); ++i) write(cards_[i], i < 2 ? "0-7" : "8-15");
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& card, const std::string& cpus) const {
    std::filesystem::create_directories(directory_ + "/" + card);
    std::ofstream(directory_ + "/" + card + "/local_cpulist") << cpus << '\n';
  }
  [[nodiscard]] Order order(const topo::CpuSet& cpus, std::size_t turn) const {
    return nearest_first(cards_, cpus, turn, directory_);
  }

  std::string directory_;
  std::vector<std::string> cards_ = {"0000:11:00.0", "0000:21:00.0", "0000:91:00.0", "0000:a1:00.0"};
};

TEST_F(Nearest, CardsOfTheOwnDomainComeFirst) {
  EXPECT_EQ(order({3}, 0), (Order{0, 1, 2, 3}));
  EXPECT_EQ(order({9, 10}, 0), (Order{2, 3, 0, 1}));
}

TEST_F(Nearest, ProcessesUseEquallyNearCardsInTurns) {
  EXPECT_EQ(order({3}, 1), (Order{1, 0, 3, 2}));
  EXPECT_EQ(order({3}, 2), (Order{0, 1, 2, 3}));
  std::vector<int> users(cards_.size());
  for (std::size_t turn = 0; turn < 8; ++turn) ++users[order({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, turn)[0]];
  EXPECT_EQ(users, (std::vector<int>{2, 2, 2, 2}));
}

TEST_F(Nearest, CardsOfUnknownPlaceAreUsedInTurns) {
  cards_ = {"0001:01:00.0", "0001:02:00.0", "0001:03:00.0"};
  EXPECT_EQ(order({3}, 4), (Order{1, 2, 0}));
  EXPECT_EQ(order({}, 2), (Order{2, 0, 1}));
}

TEST_F(Nearest, UnknownCpusMakeNoCardNear) { EXPECT_EQ(order({}, 1), (Order{1, 2, 3, 0})); }

TEST_F(Nearest, EntriesOfOneCardStayInTheirOrder) {
  cards_ = {"0000:11:00.0", "0000:11:00.0", "0000:91:00.0", "0000:91:00.0"};
  EXPECT_EQ(order({12}, 0), (Order{2, 3, 0, 1}));
  EXPECT_EQ(order({12}, 1), (Order{2, 3, 0, 1}));
}

TEST_F(Nearest, NonsenseOfTheSystemIsNoPlace) {
  write(cards_[0], "");
  write(cards_[1], "no list");
  EXPECT_EQ(order({3}, 1), (Order{1, 2, 3, 0}));
}

TEST_F(Nearest, NoCards) { EXPECT_TRUE(nearest_first({}, {3}, 1, directory_).empty()); }

}  // namespace
}  // namespace hr::transport::ofi
