#include "p2p/wait/loaded_core.hpp"

#include <gtest/gtest.h>

namespace hr::p2p {
namespace {

TEST(LostTime, ALoadThatTakesMillisecondsIsTooMuch) {
  LostTime lost;
  EXPECT_FALSE(lost.add(3e-3, 10.0));
  EXPECT_TRUE(lost.add(3e-3, 10.1));
  LostTime at_once;
  EXPECT_TRUE(at_once.add(6e-3, 10.0));
}

TEST(LostTime, ShortWorkOfTheSystemIsNot) {
  LostTime lost;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(lost.add(1e-3, 0.5 * i)) << i;
}

TEST(LostTime, ASecondLaterItCountsAfresh) {
  LostTime lost;
  EXPECT_FALSE(lost.add(4e-3, 10.0));
  EXPECT_FALSE(lost.add(4e-3, 11.5));
  EXPECT_TRUE(lost.add(4e-3, 11.6));
}

}  // namespace
}  // namespace hr::p2p
