// Which of the two ways counts as the faster one.
#include "p2p/single_copy.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace hr::p2p::single_copy {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

TEST(SingleCopy, WithoutIntervalsTheTransferTimeDecides) {
  EXPECT_DOUBLE_EQ(saved_by_stream({10, kUnknown}, {10, kUnknown}), 0);
  EXPECT_DOUBLE_EQ(saved_by_stream({10, kUnknown}, {7.5, kUnknown}), 0.25);
  EXPECT_DOUBLE_EQ(saved_by_stream({10, 30}, {7.5, kUnknown}), 0.25);
  EXPECT_DOUBLE_EQ(saved_by_stream({10, kUnknown}, {12, 20}), -0.2);
  EXPECT_EQ(saved_by_stream({10, 30}, {kUnknown, kUnknown}), -kUnknown);
}

// Data that is read is fetched back by the program, which the time under way does not show.
TEST(SingleCopy, IntervalsDecideWhereTheyAreKnown) {
  EXPECT_DOUBLE_EQ(saved_by_stream({10, 40}, {12, 30}), 1);
  EXPECT_DOUBLE_EQ(saved_by_stream({10, 40}, {12, 39}), 0.1);
  EXPECT_DOUBLE_EQ(saved_by_stream({10, 20}, {5, 25}), -0.5);
}

// What the program computes between messages differs from turn to turn.
TEST(SingleCopy, LongIntervalsAreIgnored) {
  EXPECT_DOUBLE_EQ(saved_by_stream({10, 1000}, {12, 900}), -0.2);
  EXPECT_DOUBLE_EQ(saved_by_stream({10, 1000}, {7, 1100}), 0.3);
}

}  // namespace
}  // namespace hr::p2p::single_copy
