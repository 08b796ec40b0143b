#include "base/status.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace hr {
namespace {

Status inner(bool good) {
  if (!good) return fail(Errc::kRank, "rank %d is not one of %d", 9, 4);
  return kOk;
}

Status outer(bool good) {
  HR_TRY(inner(good));
  return kOk;
}

TEST(Status, TravelsWithItsDetail) {
  EXPECT_TRUE(outer(true).ok());
  const Status status = outer(false);
  EXPECT_EQ(status.errc(), Errc::kRank);
  EXPECT_EQ(take_detail(), "rank 9 is not one of 4");
  EXPECT_EQ(take_detail(), "") << "taken once";
}

TEST(Status, AgainIsItsOwnClass) {
  EXPECT_TRUE(Status::again().is_again());
  EXPECT_FALSE(Status::again().ok());
  EXPECT_FALSE(kOk.is_again());
}

TEST(Status, DetailsAreOfTheirThread) {
  set_detail("mine");
  std::thread([] { EXPECT_EQ(take_detail(), ""); }).join();
  EXPECT_EQ(take_detail(), "mine");
}

}  // namespace
}  // namespace hr
