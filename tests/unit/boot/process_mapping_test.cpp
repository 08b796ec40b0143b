#include "boot/process_mapping.hpp"

#include <gtest/gtest.h>

namespace hr::boot {
namespace {

using Nodes = std::vector<int>;

TEST(ProcessMapping, Blocks) {
  EXPECT_EQ(parse_process_mapping("(vector,(0,1,4))", 4), (Nodes{0, 0, 0, 0}));
  EXPECT_EQ(parse_process_mapping("(vector,(0,2,2))", 4), (Nodes{0, 0, 1, 1}));
  EXPECT_EQ(parse_process_mapping("(vector,(0,2,1),(2,1,2))", 4), (Nodes{0, 1, 2, 2}));
}

TEST(ProcessMapping, BlocksRepeatUntilEveryRankHasItsNode) {
  EXPECT_EQ(parse_process_mapping("(vector,(0,2,1))", 5), (Nodes{0, 1, 0, 1, 0}));
  EXPECT_EQ(parse_process_mapping("(vector,(0,2,8))", 3), (Nodes{0, 0, 0}));
}

TEST(ProcessMapping, WhatIsNotAMappingIsRefused) {
  for (const char* text : {"", "(vector)", "(vector,", "(vector,(0,1))", "(vector,(0,1,x))", "(vector,(0,0,1))",
                           "(vector,(0,1,0))", "(vector,(-1,1,1))", "(vector,(0,1,1)", "(vector,(0,1,1))x"}) {
    EXPECT_FALSE(parse_process_mapping(text, 2)) << text;
  }
}

}  // namespace
}  // namespace hr::boot
