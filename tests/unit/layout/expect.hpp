// Assertions on Status that print the detail.
#pragma once

#include <gtest/gtest.h>

#include "base/status.hpp"

#define EXPECT_OK(expression) EXPECT_EQ((expression).code(), 0) << ::hr::take_detail()
#define ASSERT_OK(expression) ASSERT_EQ((expression).code(), 0) << ::hr::take_detail()
#define EXPECT_FAILS(expression, error_class) EXPECT_EQ((expression).code(), static_cast<int>(error_class))
