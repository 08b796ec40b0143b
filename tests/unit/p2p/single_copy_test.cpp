// Which of the two ways counts as the faster one.
#include "p2p/single_copy.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace hr::p2p::single_copy {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

TEST(SingleCopy, WithoutTurnsTheTimeUnderWayDecides) {
  EXPECT_FALSE(stream_is_faster({10, kUnknown}, {10, kUnknown}));
  EXPECT_FALSE(stream_is_faster({10, kUnknown}, {8.5, kUnknown}));  // not by enough
  EXPECT_TRUE(stream_is_faster({10, kUnknown}, {7.5, kUnknown}));
  EXPECT_TRUE(stream_is_faster({10, 30}, {7.5, kUnknown}));
  EXPECT_FALSE(stream_is_faster({10, kUnknown}, {12, 20}));
}

// Data that is read is fetched back by the program, which the time under way does not show.
TEST(SingleCopy, TurnsDecideWhereTheyAreKnown) {
  EXPECT_TRUE(stream_is_faster({10, 40}, {12, 30}));
  EXPECT_FALSE(stream_is_faster({10, 40}, {12, 39}));  // not by enough
  EXPECT_FALSE(stream_is_faster({10, 20}, {5, 25}));
}

// What the program computes between messages differs from turn to turn.
TEST(SingleCopy, LongTurnsTellNothing) {
  EXPECT_FALSE(stream_is_faster({10, 1000}, {12, 900}));
  EXPECT_TRUE(stream_is_faster({10, 1000}, {7, 1100}));
}

}  // namespace
}  // namespace hr::p2p::single_copy
