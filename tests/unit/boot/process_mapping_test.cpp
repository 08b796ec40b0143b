#include "boot/process_mapping.hpp"

#include <gtest/gtest.h>

#include <cstdint>

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

TEST(ProcessMapping, UsualPlacementsAreWrittenAsOneBlock) {
  EXPECT_EQ(format_process_mapping({0, 0, 0, 1, 1, 1}), "(vector,(0,2,3))");
  EXPECT_EQ(format_process_mapping({0, 1, 2, 0, 1, 2, 0}), "(vector,(0,3,1))");
  EXPECT_EQ(format_process_mapping({5}), "(vector,(5,1,1))");
}

TEST(ProcessMapping, WhatIsWrittenIsReadAgain) {
  std::uint32_t random = 1;
  for (int round = 0; round < 2000; ++round) {
    Nodes nodes;
    const int ranks = 1 + round % 11;
    for (int rank = 0; rank < ranks; ++rank)
      nodes.push_back(static_cast<int>((random = random * 1664525 + 1013904223) >> 30));
    EXPECT_EQ(parse_process_mapping(format_process_mapping(nodes), ranks), nodes) << format_process_mapping(nodes);
  }
}

TEST(ProcessMapping, WhatIsNotAMappingIsRefused) {
  for (const char* text : {"", "(vector)", "(vector,", "(vector,(0,1))", "(vector,(0,1,x))", "(vector,(0,0,1))",
                           "(vector,(0,1,0))", "(vector,(-1,1,1))", "(vector,(0,1,1)", "(vector,(0,1,1))x"}) {
    EXPECT_FALSE(parse_process_mapping(text, 2)) << text;
  }
}

}  // namespace
}  // namespace hr::boot
