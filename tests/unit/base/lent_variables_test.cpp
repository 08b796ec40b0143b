#include "base/lent_variables.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

namespace hr {
namespace {

std::string value_of(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "unset" : value;
}

TEST(LentVariables, ExistAsLongAsTheObject) {
  ASSERT_EQ(::setenv("HR_TEST_SET", "by the user", 1), 0);
  {
    const LentVariables lent{{"HR_TEST_SET", "ours"}, {"HR_TEST_UNSET", "ours"}};
    EXPECT_EQ(value_of("HR_TEST_SET"), "by the user");
    EXPECT_EQ(value_of("HR_TEST_UNSET"), "ours");
    {
      const LentVariables inner{{"HR_TEST_UNSET", "inner"}, {"HR_TEST_INNER", "inner"}};
      EXPECT_EQ(value_of("HR_TEST_UNSET"), "ours");
      EXPECT_EQ(value_of("HR_TEST_INNER"), "inner");
    }
    EXPECT_EQ(value_of("HR_TEST_INNER"), "unset");
    EXPECT_EQ(value_of("HR_TEST_UNSET"), "ours");
  }
  EXPECT_EQ(value_of("HR_TEST_UNSET"), "unset");
  EXPECT_EQ(value_of("HR_TEST_SET"), "by the user");
  EXPECT_NE(std::getenv("PATH"), nullptr);
}

TEST(LentVariables, ChangesOfTheProgramStay) {
  ASSERT_EQ(::setenv("HR_TEST_CHANGED", "before", 1), 0);
  ASSERT_EQ(::setenv("HR_TEST_REMOVED", "before", 1), 0);
  {
    const LentVariables lent{{"HR_TEST_LENT_1", "ours"}};
    ASSERT_EQ(::setenv("HR_TEST_CHANGED", "after", 1), 0);
  }
  EXPECT_EQ(value_of("HR_TEST_CHANGED"), "after");
  {
    const LentVariables lent{{"HR_TEST_LENT_2", "ours"}};
    ASSERT_EQ(::unsetenv("HR_TEST_REMOVED"), 0);
  }
  EXPECT_EQ(value_of("HR_TEST_REMOVED"), "unset");
  {
    const LentVariables lent{{"HR_TEST_LENT_3", "ours"}};
    ASSERT_EQ(::setenv("HR_TEST_ADDED", "after", 1), 0);
  }
  EXPECT_EQ(value_of("HR_TEST_ADDED"), "after");
  EXPECT_EQ(value_of("HR_TEST_CHANGED"), "after");
  EXPECT_EQ(value_of("HR_TEST_REMOVED"), "unset");
}

TEST(LentVariables, AnEmptyEnvironmentIsPossible) {
  char** const before = environ;
  environ = nullptr;
  {
    const LentVariables lent{{"HR_TEST_LENT", "ours"}};
    EXPECT_EQ(value_of("HR_TEST_LENT"), "ours");
  }
  EXPECT_EQ(environ, nullptr);
  environ = before;
}

TEST(LentVariables, OtherThreadsReadMeanwhile) {
  ASSERT_EQ(::setenv("HR_TEST_READ", "value", 1), 0);
  std::atomic<bool> ends{false};
  std::atomic<unsigned> reads{0};
  unsigned wrong = 0;
  std::thread reader([&] {
    for (; !ends; ++reads) wrong += value_of("HR_TEST_READ") == "value" ? 0 : 1;
  });
  while (reads < 1000) {
    const LentVariables lent{{"HR_TEST_LENT", "ours"}};
    EXPECT_EQ(value_of("HR_TEST_LENT"), "ours");
  }
  ends = true;
  reader.join();
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace hr
